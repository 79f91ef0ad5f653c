// The part that the attacks min_max and min_sum share. Both send ū + γ p: ū is the mean of the honest updates u_i, p a direction, and
// each attack chooses the largest γ that its own bound on distances allows.
#pragma once

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/words.h"

#include <array>
#include <vector>

namespace fedhive::aggregation {

/// The direction p. Unit: −ū / |ū|. Std: −σ, with σ the standard deviation of each parameter over the honest updates. Sign: −sign(ū).
enum class Perturbation { Unit, Std, Sign };
constexpr auto all_words(Perturbation) { return std::array{"unit", "std", "sign"}; }

/// The key `direction`, and the vector e (attack_catalog.h) that each of its values needs.
KeySpec direction_of_perturbation();
ExtraRow row_of_perturbation(const Values& values);

/// The vector ū + γ p, and the inner products that give its distance to each honest update.
///
/// Error    relative error of γ: about 1e-6 × (L / D)², with L the length of the honest updates and of p, D the distance between updates.
class Perturbed {
public:
    Perturbed(const HonestUpdates& honest, const Values& values);

    /// |p|²; 0 where ū, σ or sign(ū) is 0.
    double squared() const { return squared_; }
    /// ⟨p, ū − u_i⟩ and |ū − u_i|², for each honest update.
    const std::vector<double>& along() const { return along_; }
    const std::vector<double>& squared_distances() const { return squared_distances_; }

    Crafted at(double gamma) const;

private:
    std::size_t count_;
    std::vector<double> direction_;  // p, as coefficients of the honest updates and the extra row
    double squared_;
    std::vector<double> along_, squared_distances_;
};

}  // namespace fedhive::aggregation
