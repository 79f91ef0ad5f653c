#include "sim/config/run_keys.h"

#include "sim/config/fields.h"
#include "sim/config/load_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

struct KindOf {
    KeyKind operator()(const std::int64_t*) const { return KeyKind::Integer; }
    KeyKind operator()(const std::uint64_t*) const { return KeyKind::Integer; }
    KeyKind operator()(const std::optional<std::int64_t>*) const { return KeyKind::Integer; }
    KeyKind operator()(const std::optional<std::uint64_t>*) const { return KeyKind::Integer; }
    KeyKind operator()(const double*) const { return KeyKind::Number; }
    KeyKind operator()(const std::optional<double>*) const { return KeyKind::Number; }
    KeyKind operator()(const WordRef&) const { return KeyKind::Other; }
    template <class Value>
    KeyKind operator()(const Value*) const {
        return KeyKind::Other;
    }
};

class Collector : public Visitor {
public:
    std::map<std::string, KeyKind> keys;
    std::map<std::string, std::vector<std::string>> choices;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override {
        if (!in_list_) keys[path_to(field.name)] = std::visit(KindOf{}, field.target);
        if (auto words = field.words(); !words.empty()) choices[path_to(field.name)] = std::move(words);
    }
    void items(const ItemList& list) override {
        keys[path_to(list.name)] = KeyKind::Other;
        path_.push_back(list.name);
        in_list_ = true;
        list.example(*this);
        in_list_ = false;
        path_.pop_back();
    }
    bool wants_all() const override { return true; }

private:
    std::string path_to(const std::string& name) const {
        return path_.empty() ? name : fmt::format("{}.{}", fmt::join(path_, "."), name);
    }

    bool in_list_ = false;
    std::vector<std::string> path_;
};

struct Collected {
    std::map<std::string, KeyKind> keys;
    std::map<std::string, std::vector<std::string>> choices;
};

const Collected& collected() {
    static const Collected all = [] {
        Collector collector;
        RunConfig defaults;
        describe(collector, defaults);
        return Collected{collector.keys, collector.choices};
    }();
    return all;
}

}  // namespace

const std::map<std::string, KeyKind>& run_keys() { return collected().keys; }

const std::map<std::string, std::vector<std::string>>& run_choices() { return collected().choices; }

std::vector<std::string> config_keys() {
    std::vector<std::string> keys;
    for (const auto& [key, kind] : run_keys()) keys.push_back(key);
    return keys;
}

bool is_run_key_or_section(const std::string& path) {
    return std::any_of(run_keys().begin(), run_keys().end(), [&](const auto& key) { return lies_in(key.first, path); });
}

bool lies_in(const std::string& path, const std::string& section) {
    return path == section || path.rfind(section + ".", 0) == 0;
}

}  // namespace fedhive::sim
