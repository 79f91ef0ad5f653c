// Min-Sum: as far from all honest updates together as the farthest of them.
#include "aggregation/attacks/perturbation.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// max_i Σ_j |u_i − u_j|².
double largest_sum_of_squared_distances(const HonestUpdates& honest) {
    double largest = 0.0;
    for (std::size_t i = 0; i < honest.count; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < honest.count; ++j) sum += honest.products->squared_distance(i, j);
        largest = std::max(largest, sum);
    }
    return largest;
}

/// out = ū + γ p with the largest γ for which Σ_i |out − u_i|² <= max_i Σ_j |u_i − u_j|².
/// Σ_i |ū + γ p − u_i|² = K |p|² γ² + Σ_i |ū − u_i|², since Σ_i (ū − u_i) = 0. Where p = 0, γ = 0.
///
/// Shapes   K >= 1 honest updates; with K = 1, γ = 0.
/// Source   Shejwalkar and Houmansadr 2021 (NDSS), the Min-Sum attack; p: their inverse unit vector, standard deviation, sign.
/// Differs  γ is exact, where the paper searches; vectors are updates, not gradients.
Crafted craft_min_sum(const HonestUpdates& honest, const Values& values) {
    const Perturbed perturbed(honest, values);
    if (perturbed.squared() == 0.0) return perturbed.at(0.0);
    double room = largest_sum_of_squared_distances(honest);
    for (const double squared : perturbed.squared_distances()) room -= squared;
    return perturbed.at(std::sqrt(std::max(0.0, room) / (static_cast<double>(honest.count) * perturbed.squared())));
}

}  // namespace

AttackSpec min_sum() {
    return {.name = "min_sum",
            .summary =
                "the mean of the honest updates, moved as far as the sum of its squared distances to them stays within the "
                "largest such sum of an honest update (Shejwalkar and Houmansadr, NDSS 2021)",
            .keys = {share_of_attackers(), direction_of_perturbation()},
            .products = true,
            .extra = row_of_perturbation,
            .craft = craft_min_sum};
}

}  // namespace fedhive::aggregation
