// Mimic: all attackers send a copy of one honest update, so that its client counts more than the others.
#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/math/leading_direction.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// out = u_i, i = argmax_k |⟨z, u_k − ū⟩|: z is the leading eigenvector of Σ_k (u_k − ū)(u_k − ū)ᵀ. Of equal ones, the first.
///
/// Shapes   K >= 1 honest updates.
/// Source   Karimireddy, He, Jaggi 2022 (arXiv:2006.09365), the mimic attack.
/// Differs  z is that of the round alone; there is no initial phase in which the attackers learn it.
Crafted craft_mimic(const HonestUpdates& honest, const Values&) {
    const std::vector<double> along = along_leading_direction(*honest.products, std::vector<double>(honest.count, 1.0));
    const auto copied =
        std::max_element(along.begin(), along.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    Crafted crafted{.of_updates = std::vector<double>(honest.count, 0.0)};
    crafted.of_updates[static_cast<std::size_t>(copied - along.begin())] = 1.0;
    return crafted;
}

}  // namespace

AttackSpec mimic() {
    return {.name = "mimic",
            .summary =
                "a copy of the honest update farthest along the direction in which the honest updates differ most "
                "(arXiv:2006.09365)",
            .keys = {share_of_attackers()},
            .products = true,
            .craft = craft_mimic};
}

}  // namespace fedhive::aggregation
