// Min-Max: as far from the mean as the honest updates are from one another.
#include "aggregation/attacks/perturbation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedhive::aggregation {

namespace {

/// max_ij |u_i − u_j|².
double largest_squared_distance(const HonestUpdates& honest) {
    double largest = 0.0;
    for (std::size_t i = 0; i < honest.count; ++i)
        for (std::size_t j = 0; j < i; ++j) largest = std::max(largest, honest.products->squared_distance(i, j));
    return largest;
}

/// The largest root of a γ² + 2 b γ + c, for a > 0 and c <= 0.
double largest_root(double a, double b, double c) {
    const double root = std::sqrt(b * b - a * c);
    return b > 0.0 ? -c / (b + root) : (root - b) / a;
}

/// out = ū + γ p with the largest γ for which max_i |out − u_i| <= max_ij |u_i − u_j|.
/// Each i bounds γ by a root: |ū + γ p − u_i|² = |p|² γ² + 2 ⟨p, ū − u_i⟩ γ + |ū − u_i|². Where p = 0, γ = 0.
///
/// Shapes   K >= 1 honest updates; with K = 1, γ = 0.
/// Source   Shejwalkar and Houmansadr 2021 (NDSS), the Min-Max attack; p: their inverse unit vector, standard deviation, sign.
/// Differs  γ is exact, where the paper searches; vectors are updates, not gradients.
Crafted craft_min_max(const HonestUpdates& honest, const Values& values) {
    const Perturbed perturbed(honest, values);
    if (perturbed.squared() == 0.0) return perturbed.at(0.0);
    const double most = largest_squared_distance(honest);
    double gamma = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < honest.count; ++i)
        gamma = std::min(gamma, largest_root(perturbed.squared(), perturbed.along()[i],
                                             std::min(0.0, perturbed.squared_distances()[i] - most)));
    return perturbed.at(gamma);
}

}  // namespace

AttackSpec min_max() {
    return {.name = "min_max",
            .summary =
                "the mean of the honest updates, moved as far as its largest distance to one of them stays within the "
                "largest distance between two of them (Shejwalkar and Houmansadr, NDSS 2021)",
            .keys = {share_of_attackers(), direction_of_perturbation()},
            .products = true,
            .extra = row_of_perturbation,
            .craft = craft_min_max};
}

}  // namespace fedhive::aggregation
