#include "aggregation/base/keys.h"

#include "aggregation/base/error.h"

#include <fmt/format.h>

#include <cmath>

namespace fedhive {

namespace {

/// Writes limits from 1e9 on in exponent form; they are powers of ten.
std::string limit(double value) {
    return value >= kMost ? fmt::format("1e{:.0f}", std::log10(value)) : fmt::format("{}", value);
}

}  // namespace

bool KeyRange::contains(double value) const {
    return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
}

std::string KeyRange::text() const {
    const bool has_low = low > -std::numeric_limits<double>::infinity();
    const bool has_high = high < std::numeric_limits<double>::infinity();
    if (has_low && has_high && !low_excluded && !high_excluded) return fmt::format("{} to {}", limit(low), limit(high));
    std::string text = has_low ? fmt::format(fmt::runtime(low_excluded ? "above {}" : "{} or more"), limit(low)) : "";
    if (has_high)
        text += fmt::format(fmt::runtime(high_excluded ? "{}below {}" : "{}at most {}"), has_low ? ", " : "", limit(high));
    return text;
}

template <class Value>
const Value& Values::get(const std::string& key) const {
    const KeyValue* value = find(key);
    FEDHIVE_CHECK(value != nullptr, "nothing is given for '{}'", key);
    const Value* typed = std::get_if<Value>(value);
    FEDHIVE_CHECK(typed != nullptr, "'{}' is of another type", key);
    return *typed;
}

bool Values::flag(const std::string& key) const { return get<bool>(key); }
std::int64_t Values::integer(const std::string& key) const { return get<std::int64_t>(key); }
double Values::number(const std::string& key) const { return get<double>(key); }
const std::string& Values::word(const std::string& key) const { return get<std::string>(key); }
const std::filesystem::path& Values::path(const std::string& key) const { return get<std::filesystem::path>(key); }
const std::vector<double>& Values::numbers(const std::string& key) const { return get<std::vector<double>>(key); }
std::optional<std::int64_t> Values::optional_integer(const std::string& key) const {
    return get<std::optional<std::int64_t>>(key);
}
std::optional<double> Values::optional_number(const std::string& key) const { return get<std::optional<double>>(key); }

double Values::number_or(const std::string& key, double otherwise) const {
    return find(key) != nullptr ? number(key) : otherwise;
}

const KeyValue* Values::find(const std::string& key) const {
    const auto found = values_.find(key);
    return found != values_.end() ? &found->second : nullptr;
}

Values completed(const Values& given, const std::vector<KeySpec>& keys) {
    Values values;
    std::size_t taken = 0;
    for (const KeySpec& key : keys) {
        const KeyValue* value = given.find(key.name);
        FEDHIVE_CHECK(value == nullptr || value->index() == key.default_value.index(), "'{}' is of another type", key.name);
        values.set(key.name, value != nullptr ? *value : key.default_value);
        taken += value != nullptr ? 1 : 0;
    }
    FEDHIVE_CHECK_EQ(taken, given.size());
    return values;
}

std::map<std::string, double> numbers_of(const std::vector<KeySpec>& keys, const Values& values) {
    std::map<std::string, double> numbers;
    for (const KeySpec& key : keys) {
        if (std::holds_alternative<std::int64_t>(key.default_value))
            numbers[key.name] = static_cast<double>(values.integer(key.name));
        else if (std::holds_alternative<double>(key.default_value))
            numbers[key.name] = values.number(key.name);
        else if (std::holds_alternative<std::optional<std::int64_t>>(key.default_value))
            numbers[key.name] = static_cast<double>(values.optional_integer(key.name).value_or(-1));
        else if (std::holds_alternative<std::optional<double>>(key.default_value))
            numbers[key.name] = values.optional_number(key.name).value_or(-1.0);
    }
    return numbers;
}

}  // namespace fedhive
