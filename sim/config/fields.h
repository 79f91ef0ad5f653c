// The description of every key, written once: name, place in the struct, allowed values, meaning. Three visitors use it: the reader
// (YAML -> struct), the writer (struct -> resolved YAML) and the reference (-> configs/REFERENCE.md). To add a key: one struct member in
// run_config.h, one entry in fields.cpp. Private to sim/config.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/words.h"
#include "sim/config/run_config.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fedhive::sim {

/// A key or section exists only while `key`, in the same section, has one of `values`: data.root while data.format is idx.
struct Condition {
    std::string value;  // the value that `key` has
    std::string key;
    std::vector<std::string> values;  // empty: only while `key` is left out

    bool holds() const;
};

/// An enum in the struct, as visitors see it: by its words (aggregation/base/words.h).
struct WordRef {
    std::vector<std::string> words;
    std::function<std::string()> get;             // empty: an empty optional
    std::function<void(const std::string&)> set;  // to one of `words`

    template <Worded Enum>
    WordRef(Enum* value)
        : words(words_of<Enum>()),
          get([value] { return word_of(*value); }),
          set([value](const std::string& word) { *value = from_word<Enum>(word).value(); }) {}
    template <Worded Enum>
    WordRef(std::optional<Enum>* value)
        : words(words_of<Enum>()),
          get([value] { return *value ? word_of(**value) : ""; }),
          set([value](const std::string& word) { *value = from_word<Enum>(word); }) {}
    /// Returns itself, so that visitors can treat it like the pointers in Target.
    const WordRef& operator*() const { return *this; }
};

/// The place of a key's value in the struct. An empty optional or list means that the key is left out.
using Target = std::variant<std::string*, std::filesystem::path*, bool*, std::int64_t*, std::uint64_t*, double*,
                            std::vector<double>*, std::vector<std::string>*, std::optional<std::int64_t>*,
                            std::optional<std::uint64_t>*, std::optional<double>*, clients::LayerList*, WordRef>;

struct Field {
    std::string name;
    Target target;
    KeyRange range{};
    std::vector<std::string> choices{};  // allowed words of a key that is no enum; empty: any
    std::vector<std::string> also{};     // other words that are read as a choice
    std::optional<Condition> when{};     // the condition under which the key exists; empty: always
    bool required = false;
    std::vector<std::string> or_else{};  // for a required key: keys in the same section that can replace it
    std::string empty_word{};            // how an empty optional is written ("auto"); empty: it is not written
    std::string default_note{};          // printed in REFERENCE.md instead of the struct's value
    bool may_change = false;             // a resumed run may set it anew: it cannot affect the results of finished rounds
    std::string doc;                     // one line: meaning, unit, typical value, paper symbol, known bad region

    /// Allowed words: `empty_word` and those of an enum, or `choices`; empty: any.
    std::vector<std::string> words() const;
    /// words(), then `also`.
    std::vector<std::string> read_words() const;
    /// Allowed numbers: "auto, 1 or more".
    std::string numbers() const;
};

struct Section {
    std::string name;
    bool flow = false;                // written on one line: {a: 1, b: 2}
    std::optional<Condition> when{};  // empty: always
    std::string doc;
};

class Visitor;

/// A list of maps, such as `faults`: every item has the same keys.
struct ItemList {
    std::string name;
    std::string doc;
    std::function<std::size_t()> size;
    std::function<void(std::size_t)> resize;                        // new items have defaults
    std::function<void(Visitor& visitor, std::size_t index)> item;  // visits the fields of item `index`
    std::function<void(Visitor& visitor)> example;                  // visits the fields of an item with default values
};

/// Visits a section's fields between its begin and its end; sections nest. Conditions refer only to fields visited before.
class Visitor {
public:
    Visitor() = default;
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;
    virtual ~Visitor() = default;

    virtual void begin(const Section& section) = 0;
    virtual void field(const Field& field) = 0;
    virtual void end() = 0;
    virtual void items(const ItemList& list) = 0;
    /// Visits a key whose value other code reads, such as `grid` of a sweep file.
    virtual void other(const std::string&) {}

    /// Called after field() of the key `name` if its value cannot be used, so that the keys which depend on it are unknown.
    virtual void refuse([[maybe_unused]] const std::string& name, const std::string& problem) { throw ConfigError(problem); }

    /// Whether this visitor also visits sections whose condition does not hold.
    virtual bool wants_all() const { return false; }
};

/// Visits all keys in file order, including keys whose condition does not hold. Sections whose condition does not hold are visited only if
/// visitor.wants_all().
void describe(Visitor& visitor, RunConfig& run);

// Parts of describe(), in device_fields.cpp, data_fields.cpp and strategy_fields.cpp.
void describe_devices(Visitor& visitor, RunConfig& run);
void describe_data(Visitor& visitor, DataConfig& data);
void describe_strategy(Visitor& visitor, StrategyConfig& strategy);

/// A field's value as YAML; empty for a key left out.
std::string text_of(const Field& field);

/// A key that applies and has a value; keys of a list's items are written "faults[0].kind".
struct Leaf {
    std::string key;
    std::string text;
    bool may_change;
};
/// In file order.
std::vector<Leaf> leaves_of(RunConfig run);

/// A name that a config can choose, with its keys.
struct Choice {
    std::string name;
    const std::vector<KeySpec>* keys;
};

/// The choices of a catalog whose entries have a name and keys.
template <class Catalog>
std::vector<Choice> choices_of(const Catalog& catalog) {
    std::vector<Choice> choices;
    choices.reserve(catalog.size());
    for (const auto& entry : catalog) choices.push_back({entry.name, &entry.keys});
    return choices;
}

/// The text of a catalog for a key's doc, from the entries' `summary`: "iid: a seeded shuffle; shards: few labels a client".
template <class Catalog>
std::string summaries_of(const Catalog& catalog) {
    std::string text;
    for (const auto& entry : catalog) text += (text.empty() ? "" : "; ") + entry.name + ": " + entry.summary;
    return text + ".";
}

/// Visits the keys of all choices; the key `chooser` in the same section selects one. A key that several choices share with the same doc is
/// visited once. `values`: the values of the chosen one, complete afterwards.
void describe_keys(Visitor& visitor, const std::string& chooser, const std::string& chosen, Values& values,
                   const std::vector<Choice>& choices);

}  // namespace fedhive::sim
