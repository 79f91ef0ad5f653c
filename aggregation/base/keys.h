// Keys as data: what a named thing (a strategy, a partition scheme, a data format) can be told, and what a user told it. A thing's file says
// its keys once; reader, resolved config, suggestions, configs/REFERENCE.md and tests walk them.
#pragma once

#include "aggregation/base/error.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fedhive {

/// The numbers a key may have.
struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool low_excluded = false;
    bool high_excluded = false;

    bool contains(double value) const;
    std::string text() const;  // "1 to 1024", "above 0", "0 or more, below 1"; empty without limits
};

inline constexpr double kMost = 1e9;  // of anything counted: one count fits in 32 bits, a product of two in 64
inline constexpr double kWide = 1e6;  // of anything that multiplies memory

inline Range at_least(double low) { return {.low = low}; }
inline Range above(double low) { return {.low = low, .low_excluded = true}; }
inline Range between(double low, double high) { return {.low = low, .high = high}; }
inline Range fraction() { return {.low = 0, .high = 1, .low_excluded = true}; }
inline Range fraction_below_one() { return {.low = 0, .high = 1, .high_excluded = true}; }

using AnyValue = std::variant<bool, std::int64_t, double, std::string, std::filesystem::path, std::vector<double>,
                              std::optional<std::int64_t>, std::optional<double>>;

/// What a key holds; its alternative is the key's type. An empty optional, list or path is a key left out.
struct KeyValue : AnyValue {
    using AnyValue::AnyValue;
    KeyValue(const char* word) : AnyValue(std::string(word)) {}  // which would be a path as well
};

/// One key, as the config reader checks it and REFERENCE.md prints it.
struct KeySpec {
    std::string name;
    KeyValue default_value;              // says its type, too
    Range range{};                       // of a number, and of each of a list
    std::vector<std::string> choices{};  // of a word; empty: any
    /// Only while the key of that name beside it has one of these values.
    struct Companion {
        std::string key;
        std::vector<std::string> values;
        bool operator==(const Companion&) const = default;
    };
    std::optional<Companion> with{};
    bool required = false;
    std::string empty_word{};    // how an empty optional is written ("auto"); empty: it is not
    std::string default_note{};  // REFERENCE.md: instead of the value
    bool may_change = false;     // cannot change what rounds already done have computed: may be given when a run is resumed
    std::string doc;             // one line: meaning, unit, typical value, paper symbol, known bad region
};

/// The values of a thing's keys. What is asked for must be there and of that type, else Fault: whoever builds a thing completes them first.
class Values {
public:
    Values() = default;
    Values(std::initializer_list<std::pair<const std::string, KeyValue>> values) : values_(values) {}

    bool flag(const std::string& key) const;
    std::int64_t integer(const std::string& key) const;
    double number(const std::string& key) const;
    const std::string& word(const std::string& key) const;
    const std::filesystem::path& path(const std::string& key) const;
    const std::vector<double>& numbers(const std::string& key) const;
    std::optional<std::int64_t> optional_integer(const std::string& key) const;

    /// The number, where there is one of that key.
    double number_or(const std::string& key, double otherwise) const;
    /// Null where there is none.
    const KeyValue* find(const std::string& key) const;
    void set(const std::string& key, KeyValue value) { values_[key] = std::move(value); }
    bool erase(const std::string& key) { return values_.erase(key) > 0; }
    std::size_t size() const { return values_.size(); }
    bool operator==(const Values&) const = default;

private:
    template <class Value>
    const Value& get(const std::string& key) const;

    std::map<std::string, KeyValue> values_;
};

/// An entry of a catalog, by its name, with the values of its keys.
struct Chosen {
    std::string name;
    Values values{};  // in a config complete once it is loaded
};

/// `given`, with the defaults of keys that it has not. Throws Fault for a key that is none of these, or of another type.
Values completed(const Values& given, const std::vector<KeySpec>& keys);

/// The entry of that name in a catalog of `what`; whoever asks knows that there is one.
template <class Catalog>
const auto& entry_of(const Catalog& catalog, std::string_view name, const char* what) {
    const auto found = std::find_if(catalog.begin(), catalog.end(), [&](const auto& entry) { return entry.name == name; });
    FEDHIVE_CHECK(found != catalog.end(), "no {} is called '{}'", what, name);
    return *found;
}

/// The names of a catalog's entries, in its order.
template <class Catalog>
std::vector<std::string> names_of(const Catalog& catalog) {
    std::vector<std::string> names;
    names.reserve(catalog.size());
    for (const auto& entry : catalog) names.push_back(entry.name);
    return names;
}

/// What is wrong with values that are right each by itself: the key to blame and what to say of it.
struct KeyProblem {
    std::string key;
    std::string text;
};

}  // namespace fedhive
