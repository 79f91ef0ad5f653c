#include "sim/config/run_keys.h"

#include "sim/config/fields.h"

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
    template <class Value>
    KeyKind operator()(const Value*) const {
        return KeyKind::Other;
    }
};

class Collector : public Visitor {
public:
    std::map<std::string, KeyKind> keys;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override { keys[path_to(field.name)] = std::visit(KindOf{}, field.target); }
    void items(const ItemList& list) override { keys[path_to(list.name)] = KeyKind::Other; }
    bool wants_all() const override { return true; }

private:
    std::string path_to(const std::string& name) const {
        return path_.empty() ? name : fmt::format("{}.{}", fmt::join(path_, "."), name);
    }

    std::vector<std::string> path_;
};

}  // namespace

const std::map<std::string, KeyKind>& run_keys() {
    static const std::map<std::string, KeyKind> keys = [] {
        Collector collector;
        RunConfig defaults;
        describe(collector, defaults);
        return collector.keys;
    }();
    return keys;
}

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
