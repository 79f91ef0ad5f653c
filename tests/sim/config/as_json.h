// A tree as one line of YAML: in JSON style with every word in quotes, or with words quoted as in the tree.
#pragma once

#include "sim/config/scalars.h"
#include "sim/config/tree.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace fedhive::sim::testing {

enum class Quotes { All, AsGiven };

inline std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c >= 0 && c < ' ' ? fmt::format("\\u{:04x}", static_cast<int>(c)) : std::string(1, c);
    }
    return result + '"';
}

/// Numbers, true and false are never quoted.
inline std::string as_text(const YamlNode& node, Quotes quotes) {
    const bool is_bare = is_integer(node.text) || parse_number(node.text).valid || node.text == "true" || node.text == "false";
    std::vector<std::string> parts;
    for (const YamlNode& child : node.children)
        parts.push_back((node.kind == YamlNode::Kind::Map ? quoted(child.key) + ": " : "") + as_text(child, quotes));
    switch (node.kind) {
        case YamlNode::Kind::Null:
            return "null";
        case YamlNode::Kind::Plain:
            return is_bare || quotes == Quotes::AsGiven ? node.text : quoted(node.text);
        case YamlNode::Kind::Quoted:
            return quoted(node.text);
        case YamlNode::Kind::List:
            return fmt::format("[{}]", fmt::join(parts, ", "));
        case YamlNode::Kind::Map:
            break;
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace fedhive::sim::testing
