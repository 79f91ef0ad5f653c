#include "sim/config/scalars.h"

#include "aggregation/base/without_controls.h"

#include <fmt/format.h>

#include <cfloat>
#include <charconv>
#include <cmath>
#include <vector>

namespace fedhive::sim {

bool is_word(const YamlNode& node) { return node.kind == YamlNode::Kind::Plain || node.kind == YamlNode::Kind::Quoted; }

std::string shortened(std::string text) {
    if (text.size() > 60) text.replace(57, std::string::npos, "...");
    return without_controls(text);
}

std::string found(const YamlNode& node) {
    switch (node.kind) {
        case YamlNode::Kind::Null:
            return "nothing";
        case YamlNode::Kind::Plain:
            return fmt::format("'{}'", shortened(node.text));
        case YamlNode::Kind::Quoted:
            return fmt::format("the string \"{}\"", shortened(node.text));
        case YamlNode::Kind::List:
            return "a list";
        case YamlNode::Kind::Map:
            break;
    }
    return "a map";
}

bool is_integer(const std::string& text) {
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const bool digits = text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos;
    return digits && (text[sign] != '0' || text.size() == sign + 1);
}

Number parse_number(const std::string& text) {
    static const std::vector<std::string> not_finite = {"inf", ".inf", ".Inf", ".INF", "nan", ".nan", ".NaN", ".NAN"};
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    if (std::find(not_finite.begin(), not_finite.end(), text.substr(sign)) != not_finite.end()) return {true, INFINITY};
    if (text.size() == sign || (text[sign] != '.' && (text[sign] < '0' || text[sign] > '9'))) return {};
    double value = 0.0;
    const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (stop != end || error == std::errc::invalid_argument) return {};
    return {true, error == std::errc::result_out_of_range ? INFINITY : value};
}

bool fits_float(double value) { return value == 0.0 || (std::abs(value) <= FLT_MAX && std::abs(value) >= FLT_MIN); }

}  // namespace fedhive::sim
