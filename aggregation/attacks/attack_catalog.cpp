#include "aggregation/attacks/attack_catalog.h"

namespace fedhive::aggregation {

// Each is defined in the file of its name.
AttackSpec alie();
AttackSpec inner_product();
AttackSpec mimic();
AttackSpec min_max();
AttackSpec min_sum();

const std::vector<AttackSpec>& attack_catalog() {
    static const std::vector<AttackSpec> catalog = {
        {.name = "none", .summary = "every client is honest"}, alie(), inner_product(), mimic(), min_max(), min_sum()};
    return catalog;
}

const AttackSpec& attack_spec(const std::string& name) { return entry_of(attack_catalog(), name, "attack"); }

ExtraRow extra_row(const AttackSpec& attack, const Values& values) {
    return attack.extra == nullptr ? ExtraRow::None : attack.extra(values);
}

KeySpec share_of_attackers() {
    return {.name = "share",
            .default_value = 0.2,
            .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true},
            .doc =
                "Share of all clients that attack, rounded; at least one client attacks, and at least one is honest. The "
                "attackers are drawn from seeds.sampling and are the same in every round."};
}

}  // namespace fedhive::aggregation
