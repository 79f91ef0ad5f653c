#include "sim/config/sweep_draws.h"

#include "aggregation/base/random.h"
#include "sim/config/fields.h"
#include "sim/config/reader.h"
#include "sim/config/run_keys.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"
#include "sim/config/sweep_file.h"
#include "sim/config/text_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fedhive::sim {

namespace {

const std::vector<std::string> kDraws = {"uniform", "log_uniform", "choice"};

double six_digits(double value) {
    const std::string text = fmt::format("{:.6g}", value);
    double rounded = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
}

}  // namespace

KeyDraw::KeyDraw(std::string key, const YamlNode& node) : key_(std::move(key)), origin_(node.origin), line_(node.line) {
    const std::string path = "random.draw." + key_;
    if (node.kind != YamlNode::Kind::Map || node.children.size() != 1)
        throw sweep_error(
            node, path,
            fmt::format("expected one of {{uniform: [low, high]}}, {{log_uniform: [low, high]}}, {{choice: [...]}}, found {}{}",
                        found(node), node.kind == YamlNode::Kind::Map ? fmt::format(" of {} keys", node.children.size()) : ""));
    const YamlNode& drawn = node.children.front();
    if (std::find(kDraws.begin(), kDraws.end(), drawn.key) == kDraws.end()) {
        const std::string near = nearest_word(drawn.key, kDraws);
        throw sweep_error(drawn, path,
                          fmt::format("unknown draw '{}'; allowed: {}{}", drawn.key, fmt::join(kDraws, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (drawn.key != "choice") {
        read_bounds(fmt::format("{}.{}", path, drawn.key), drawn);
        return;
    }
    if (drawn.kind != YamlNode::Kind::List || drawn.children.empty())
        throw sweep_error(drawn, path + ".choice",
                          fmt::format("expected a list of values, found {}",
                                      drawn.kind == YamlNode::Kind::List ? "an empty one" : found(drawn)));
    choices_ = &drawn;
}

void KeyDraw::read_bounds(const std::string& path, const YamlNode& bounds) {
    const auto kind = run_keys().find(key_);
    if (kind != run_keys().end() && kind->second == KeyKind::Other)
        throw sweep_error(bounds, path, fmt::format("{} is not a number; draw it with choice", key_));
    is_integer_ = kind != run_keys().end() && kind->second == KeyKind::Integer;
    is_log_ = bounds.key == "log_uniform";

    YamlNode root;
    root.kind = YamlNode::Kind::Map;
    root.children.push_back(bounds);
    root.children.back().key = path;
    std::vector<double> numbers;
    read_described(root, [&](Visitor& reader) { reader.field({.name = path, .target = &numbers, .doc = ""}); });
    if (numbers.size() != 2)
        throw sweep_error(bounds, path, fmt::format("expected two numbers, [low, high], found {}", numbers.size()));
    low_ = numbers[0];
    high_ = numbers[1];
    if (!(low_ < high_)) throw sweep_error(bounds, path, fmt::format("low must be below high; found {} and {}", low_, high_));
    if (is_log_ && low_ <= 0.0)
        throw sweep_error(bounds, path, fmt::format("both bounds must be above 0; found {} and {}", low_, high_));
    if (!is_integer_) return;
    if (std::ceil(low_) > std::floor(high_))
        throw sweep_error(bounds, path,
                          fmt::format("{} must be an integer, and there is none from {} to {}", key_, low_, high_));
    low_ = std::ceil(low_);
    high_ = std::floor(high_);
}

YamlNode KeyDraw::value(std::uint64_t seed, std::uint32_t index) const {
    Stream stream(seed, Purpose::SweepDraws, index, text_hash(key_));
    if (choices_ != nullptr) return choices_->children[stream.below(choices_->children.size())];
    const double half = is_integer_ ? 0.5 : 0.0;  // so that the ends are as likely as other integers
    const double low = low_ - half;
    const double high = high_ + half;
    const double u = stream.uniform();
    const double drawn = is_log_ ? std::exp(std::log(low) + u * (std::log(high) - std::log(low))) : low + u * (high - low);
    YamlNode value;
    value.kind = YamlNode::Kind::Plain;
    value.origin = origin_;
    value.line = line_;
    const double kept = std::clamp(is_integer_ ? std::round(drawn) : six_digits(drawn), low_, high_);
    value.text = is_integer_ ? fmt::format("{:.0f}", kept) : fmt::format("{}", kept);
    return value;
}

}  // namespace fedhive::sim
