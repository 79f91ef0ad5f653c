// The one description of every key: name, place in the struct, what is allowed, what it means. Three visitors walk it: the reader (YAML ->
// struct), the writer (struct -> resolved YAML) and the reference (-> configs/REFERENCE.md). To add a key: one struct member in config.h,
// one entry in fields.cpp. Private to sim/config.
#pragma once

#include "aggregation/base/keys.h"
#include "sim/config/config.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fedhive::sim {

/// A key or section that exists only while `key`, which stands beside it, has one of `values`: data.root while data.format is idx.
struct Condition {
    std::string value;  // of `key`, at this moment
    std::string key;
    std::vector<std::string> values;  // empty: only while `key` is left out

    bool holds() const;
};

/// Where a key's value lives in the struct. An empty optional or list is a key left out.
using Target = std::variant<std::string*, std::filesystem::path*, bool*, std::int64_t*, std::uint64_t*, double*,
                            std::vector<double>*, std::vector<std::string>*, std::optional<std::int64_t>*,
                            std::optional<std::uint64_t>*, std::optional<double>*, clients::LayerList*>;

struct Field {
    std::string name;
    Target target;
    Range range{};
    std::vector<std::string> choices{};  // of a word; empty: any
    std::optional<Condition> when{};     // empty: always
    bool required = false;
    std::vector<std::string> or_else{};  // keys beside it that can stand in its place, where it is required
    std::string empty_word{};            // how an empty optional is written ("auto"); empty: it is not
    std::string default_note{};          // REFERENCE.md: instead of the struct's value
    bool may_change = false;  // cannot change what the rounds already done have computed: may be given when a run is resumed
    std::string doc;          // one line: meaning, unit, typical value, paper symbol, known bad region
};

struct Section {
    std::string name;
    bool flow = false;                // written on one line: {a: 1, b: 2}
    std::optional<Condition> when{};  // empty: always
    std::string doc;
};

class Visitor;

/// A list of maps, such as `faults`: each item has the same keys.
struct ItemList {
    std::string name;
    std::string doc;
    std::function<std::size_t()> size;
    std::function<void(std::size_t)> resize;                        // to default items
    std::function<void(Visitor& visitor, std::size_t index)> item;  // shows the fields of one
    std::function<void(Visitor& visitor)> example;                  // shows the fields of a default one
};

/// A section's fields come between its begin and its end; sections nest. A field's condition only looks at fields described before it.
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
    /// A key whose value is read elsewhere: the blocks of a sweep file.
    virtual void other(const std::string&) {}

    /// Whether it is shown a section whose condition does not hold, too.
    virtual bool wants_all() const { return false; }
};

/// Shows all keys to `visitor`, in file order, those whose condition does not hold included; not the keys of a section whose condition does
/// not hold, unless it wants all.
void describe(Visitor& visitor, RunConfig& run);

// Parts of it, each in the file of its name.
void describe_devices(Visitor& visitor, RunConfig& run);
void describe_data(Visitor& visitor, DataConfig& data);

/// A field's value as it is written in YAML; empty for a key left out.
std::string text_of(const Field& field);

/// A key that applies and is not left out; those of a list's items are "faults[0].kind".
struct Leaf {
    std::string key;
    std::string text;
    bool may_change;
};
/// In file order.
std::vector<Leaf> leaves_of(RunConfig run);

/// A named thing and the keys that belong to it.
struct Choice {
    std::string name;
    const std::vector<KeySpec>* keys;
};

/// Of a catalog, whose entries have a name and keys.
template <class Catalog>
std::vector<Choice> choices_of(const Catalog& catalog) {
    std::vector<Choice> choices;
    choices.reserve(catalog.size());
    for (const auto& entry : catalog) choices.push_back({entry.name, &entry.keys});
    return choices;
}

/// "iid: a seeded shuffle; shards: few labels a client": a catalog's entries in a key's doc, by their `summary`.
template <class Catalog>
std::string summaries_of(const Catalog& catalog) {
    std::string text;
    for (const auto& entry : catalog) text += (text.empty() ? "" : "; ") + entry.name + ": " + entry.summary;
    return text + ".";
}

/// Shows the keys of all choices, beside the key `chooser` that picks one of them; a key that several have in the same words is shown once.
/// `values`: those of the chosen one, complete afterwards.
void describe_keys(Visitor& visitor, const std::string& chooser, const std::string& chosen, Values& values,
                   const std::vector<Choice>& choices);

}  // namespace fedhive::sim
