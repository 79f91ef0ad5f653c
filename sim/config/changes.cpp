#include "sim/config/fields.h"
#include "sim/config/load_config.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

/// Collects all keys that apply, with their values, in file order.
class Flattener : public Visitor {
public:
    std::vector<Leaf> leaves;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override {
        if (field.when && !field.when->holds()) return;
        const std::string text = text_of(field);
        if (!text.empty()) leaves.push_back({path_to(field), text, field.may_change});
    }
    void items(const ItemList& list) override {
        for (std::size_t i = 0; i < list.size(); ++i) {
            path_.push_back(fmt::format("{}[{}]", list.name, i));
            list.item(*this, i);
            path_.pop_back();
        }
    }

protected:
    std::string path_to(const Field& field) const {
        return path_.empty() ? field.name : fmt::format("{}.{}", fmt::join(path_, "."), field.name);
    }

private:
    std::vector<std::string> path_;
};

const Leaf* find(const std::vector<Leaf>& leaves, const std::string& key) {
    const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& one) { return one.key == key; });
    return found == leaves.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Leaf> leaves_of(RunConfig run) {
    Flattener flattener;
    describe(flattener, run);
    return flattener.leaves;
}

std::map<std::string, std::string> values_below(const RunConfig& run, const std::string& section) {
    std::map<std::string, std::string> values;
    for (const Leaf& leaf : leaves_of(run))
        if (leaf.key.starts_with(section + ".")) values[leaf.key] = leaf.text;
    return values;
}

/// True if the clients sent in the last rounds depend on the number of rounds left.
bool drains(const ModeConfig& mode) {
    return mode.values.find("at_end") != nullptr && mode.values.choice<AtEnd>("at_end") == AtEnd::Drain;
}

std::vector<ConfigChange> changes(const RunConfig& before, const RunConfig& after) {
    const std::vector<Leaf> old_leaves = leaves_of(before);
    const std::vector<Leaf> new_leaves = leaves_of(after);
    // Recorded batched steps have their own shape, so `graph` may change bits then.
    const auto allowed = [&](const Leaf& leaf) {
        return leaf.may_change && !(leaf.key == "rounds" && drains(before.mode)) &&
               !(leaf.key == "training.graph" && before.training.clients_at_once > 1);
    };
    std::vector<ConfigChange> result;
    for (const Leaf& leaf : old_leaves) {
        const Leaf* other = find(new_leaves, leaf.key);
        if (other == nullptr || other->text != leaf.text)
            result.push_back({leaf.key, leaf.text, other == nullptr ? "" : other->text, allowed(leaf)});
    }
    for (const Leaf& leaf : new_leaves)
        if (find(old_leaves, leaf.key) == nullptr) result.push_back({leaf.key, "", leaf.text, leaf.may_change});
    return result;
}

std::vector<std::string> keys_that_may_change() {
    class Collector : public Flattener {
    public:
        void field(const Field& field) override {
            if (field.may_change) leaves.push_back({path_to(field), "", true});
        }
    } collector;
    RunConfig defaults;
    describe(collector, defaults);
    std::vector<std::string> keys;
    for (const Leaf& leaf : collector.leaves)  // data.root is a key of several formats
        if (std::find(keys.begin(), keys.end(), leaf.key) == keys.end()) keys.push_back(leaf.key);
    return keys;
}

}  // namespace fedhive::sim
