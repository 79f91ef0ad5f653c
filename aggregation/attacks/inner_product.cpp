// Inner product manipulation: the mean of the honest updates, reversed.
#include "aggregation/attacks/attack_catalog.h"

namespace fedhive::aggregation {

namespace {

/// out = −ε/K Σ_k u_k.
///
/// Shapes   K >= 1 honest updates.
/// Source   Xie, Koyejo, Gupta 2019 (arXiv:1903.03936).
/// Differs  vectors are updates, not gradients.
Crafted craft_inner_product(const HonestUpdates& honest, const Values& values) {
    const double each = -values.number("epsilon") / static_cast<double>(honest.count);
    return {.of_updates = std::vector<double>(honest.count, each)};
}

}  // namespace

AttackSpec inner_product() {
    return {
        .name = "inner_product",
        .summary = "-`epsilon` times the mean of the honest updates (inner product manipulation, arXiv:1903.03936)",
        .keys = {share_of_attackers(),
                 {.name = "epsilon",
                  .default_value = 0.1,
                  .range = above(0),
                  .doc = "Factor of the reversed mean (ε), typically 0.1 against robust rules; it reverses a plain mean from "
                         "(n - m) / m on, where m of n updates are the attackers'."}},
        .craft = craft_inner_product};
}

}  // namespace fedhive::aggregation
