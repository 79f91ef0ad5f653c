// What min_max and min_sum have in common: they send ū + γ p, the mean of the honest updates and a perturbation p as long as γ
// allows.
#pragma once

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/words.h"

#include <array>
#include <vector>

namespace fedhive::aggregation {

/// p. Unit: −ū / |ū|. Std: −σ, the standard deviation of each column. Sign: −sign(ū) of each column.
enum class Perturbation { Unit, Std, Sign };
constexpr auto all_words(Perturbation) { return std::array{"unit", "std", "sign"}; }

/// The key `direction`, and the extra row that a value of it needs.
KeySpec direction_of_perturbation();
ExtraRow row_of_perturbation(const Values& values);

/// ū + γ p, and what its distances depend on.
///
/// Error    of γ, relative: about 1e-6 where honest updates and p are about as long as the updates differ, growing with the square
///          of their length beside that.
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
