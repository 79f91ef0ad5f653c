#include "sim/config/fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

struct Value {
    std::string key;
    std::string text;
    bool may_change;
};

/// All keys that apply, with their values, in file order.
class Flattener : public Visitor {
public:
    std::vector<Value> values;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override {
        if (field.when && !field.when->holds()) return;
        const std::string text = text_of(field);
        if (!text.empty()) values.push_back({path_to(field), text, field.may_change});
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

std::vector<Value> flattened(RunConfig run) {
    Flattener flattener;
    describe(flattener, run);
    return flattener.values;
}

const Value* find(const std::vector<Value>& values, const std::string& key) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const Value& one) { return one.key == key; });
    return found == values.end() ? nullptr : &*found;
}

}  // namespace

std::vector<ConfigChange> changes(const RunConfig& before, const RunConfig& after) {
    const std::vector<Value> old_values = flattened(before);
    const std::vector<Value> new_values = flattened(after);
    // With drain, who is sent in the last rounds depends on how many rounds are left.
    const auto allowed = [&](const Value& value) {
        return value.may_change && !(value.key == "rounds" && before.mode.at_end == "drain");
    };
    std::vector<ConfigChange> result;
    for (const Value& value : old_values) {
        const Value* other = find(new_values, value.key);
        if (other == nullptr || other->text != value.text)
            result.push_back({value.key, value.text, other == nullptr ? "" : other->text, allowed(value)});
    }
    for (const Value& value : new_values)
        if (find(old_values, value.key) == nullptr) result.push_back({value.key, "", value.text, value.may_change});
    return result;
}

std::vector<std::string> keys_that_may_change() {
    class Collector : public Flattener {
    public:
        void field(const Field& field) override {
            if (field.may_change) values.push_back({path_to(field), "", true});
        }
    } collector;
    RunConfig defaults;
    describe(collector, defaults);
    std::vector<std::string> keys;
    for (const Value& value : collector.values) keys.push_back(value.key);
    return keys;
}

}  // namespace fedhive::sim
