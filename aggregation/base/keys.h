// Config keys as data: KeySpec describes a key of a catalog entry (a strategy, a partition scheme, a data format), Values holds
// what the user set. Each entry's file declares its keys once; the config reader, the resolved config, suggestions,
// configs/REFERENCE.md and tests iterate over them.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/base/words.h"

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

/// The interval of values that a key allows.
struct KeyRange {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool low_excluded = false;
    bool high_excluded = false;

    bool contains(double value) const;
    std::string text() const;  // "1 to 1024", "above 0", "0 or more, below 1"; empty without limits
};

inline constexpr double kMost = 1e9;  // limit of counts: one count fits in 32 bits, a product of two in 64
inline constexpr double kWide = 1e6;  // limit of numbers that multiply memory

inline KeyRange at_least(double low) { return {.low = low}; }
inline KeyRange above(double low) { return {.low = low, .low_excluded = true}; }
inline KeyRange between(double low, double high) { return {.low = low, .high = high}; }
inline KeyRange fraction() { return {.low = 0, .high = 1, .low_excluded = true}; }
inline KeyRange fraction_below_one() { return {.low = 0, .high = 1, .high_excluded = true}; }

using AnyValue = std::variant<bool, std::int64_t, double, std::string, std::filesystem::path, std::vector<double>,
                              std::optional<std::int64_t>, std::optional<double>>;

/// The value of a key; the active alternative is the key's type. An empty optional, list or
/// path means that the key was left out.
struct KeyValue : AnyValue {
    using AnyValue::AnyValue;
    KeyValue(const char* word) : AnyValue(std::string(word)) {}  // a literal would convert to a path as well
    template <Worded Enum>
    KeyValue(Enum value) : AnyValue(word_of(value)) {}
};

/// One key, as the config reader checks it and REFERENCE.md prints it.
struct KeySpec {
    std::string name;
    KeyValue default_value;              // its alternative is the key's type
    KeyRange range{};                    // of a number, or of each number of a list
    std::vector<std::string> choices{};  // allowed words, words_of<Enum>() of an enum; empty: any
    /// The key applies only while its sibling `key` has one of `values`.
    struct Companion {
        std::string key;
        std::vector<std::string> values;
        bool operator==(const Companion&) const = default;
    };
    std::optional<Companion> with{};
    bool required = false;
    std::string empty_word{};    // how an empty optional is written ("auto"); empty: it is not written
    std::string default_note{};  // printed in REFERENCE.md instead of the default value
    bool may_change = false;     // a resumed run may set it anew: it cannot affect the results of finished rounds
    std::string doc;             // one line: meaning, unit, typical value, paper symbol, known bad region
};

/// The values of a catalog entry's keys, by name. The typed getters throw Fault unless the key is present and of that type:
/// call completed() before an entry is built.
class Values {
public:
    Values() = default;
    Values(std::initializer_list<std::pair<const std::string, KeyValue>> values) : values_(values) {}

    bool flag(const std::string& key) const;
    std::int64_t integer(const std::string& key) const;
    double number(const std::string& key) const;
    const std::string& word(const std::string& key) const;
    /// The value that a word means. Throws Fault for a word of no value.
    template <Worded Enum>
    Enum choice(const std::string& key) const {
        const std::optional<Enum> value = from_word<Enum>(word(key));
        FEDHIVE_CHECK(value.has_value(), "'{}' cannot be '{}'", key, word(key));
        return *value;
    }
    const std::filesystem::path& path(const std::string& key) const;
    const std::vector<double>& numbers(const std::string& key) const;
    std::optional<std::int64_t> optional_integer(const std::string& key) const;
    std::optional<double> optional_number(const std::string& key) const;

    /// The number of that key, or `otherwise` if it is absent.
    double number_or(const std::string& key, double otherwise) const;
    /// Null if the key is absent.
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

/// A chosen catalog entry: its name and the values of its keys.
struct Chosen {
    std::string name;
    Values values{};  // complete once the config is loaded
};

/// `given`, with the default of each key that it lacks. Throws Fault for a key that is not in `keys`, or of another type.
Values completed(const Values& given, const std::vector<KeySpec>& keys);

/// The values of the keys that are numbers, by name, -1 for an optional one that is left out; `values` must have all keys.
std::map<std::string, double> numbers_of(const std::vector<KeySpec>& keys, const Values& values);

/// The entry called `name` in a catalog of `what`. The name must exist; throws Fault.
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

/// A conflict between values that are each valid alone: the key that the message names, and the message.
struct KeyProblem {
    std::string key;
    std::string text;
};

}  // namespace fedhive
