#include "clients/data/poison.h"

#include "aggregation/base/error.h"

#include <fmt/format.h>

namespace fedhive::clients {

// Each is in the file of its name.
PoisonSpec label_flip();
PoisonSpec label_map();
PoisonSpec trigger();

const std::vector<PoisonSpec>& poison_catalog() {
    static const std::vector<PoisonSpec> catalog = {
        {.name = "none", .summary = "clean data"}, label_flip(), label_map(), trigger()};
    return catalog;
}

const PoisonSpec& poison_spec(const std::string& name) { return entry_of(poison_catalog(), name, "poison"); }

void poison(Dataset& dataset, const Chosen& kind, std::size_t num_clients, const TrainedBy& trained_by,
            const std::function<bool(std::size_t client)>& is_attacker, std::uint64_t seed) {
    const PoisonSpec& spec = poison_spec(kind.name);
    if (spec.apply == nullptr) return;
    spec.check(kind.values, dataset.train, dataset.num_classes);
    std::size_t attackers = 0;
    for (std::size_t client = 0; client < num_clients; ++client) {
        if (!is_attacker(client)) continue;
        ++attackers;
        spec.apply(kind.values, dataset.train, trained_by(client), dataset.num_classes, seed);
    }
    if (attackers == 0)
        throw ConfigError(
            fmt::format("share: is too small for {} clients and gives no attacker; allowed: {:.6g} or more, or name: none",
                        num_clients, 1.0 / static_cast<double>(num_clients)));
    if (spec.triggered == nullptr) return;
    const Examples more = spec.triggered(kind.values, dataset.test);
    dataset.num_triggered = more.size();
    dataset.test.values.insert(dataset.test.values.end(), more.values.begin(), more.values.end());
    dataset.test.labels.insert(dataset.test.labels.end(), more.labels.begin(), more.labels.end());
}

void require_classes(const Examples& train) {
    if (train.target.kind != TargetKind::Class)
        throw ConfigError(
            fmt::format("changes class labels, but a target here is {}; remove it, or use data with one class for each "
                        "example",
                        text_of(train.target.kind)));
}

}  // namespace fedhive::clients
