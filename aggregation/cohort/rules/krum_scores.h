// The scores by which Krum and Bulyan choose updates: the squared distances to an update's nearest neighbours.
#pragma once

#include "aggregation/cohort/weight_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// result[k] = Σ_j |u_i − u_j|² with i = rows[k]; j runs over the max(1, n − f − 2) nearest neighbours of u_i among `rows`.
///
/// rows     [n] indices of updates, all different.
/// f        byzantine, the assumed number of attackers.
/// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3.
std::vector<double> krum_scores(const InnerProducts& products, std::span<const std::size_t> rows, std::size_t byzantine);

}  // namespace fedhive::aggregation
