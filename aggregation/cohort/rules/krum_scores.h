// The scores by which Krum and Bulyan choose updates: how far an update is from its nearest others.
#pragma once

#include "aggregation/cohort/weight_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// result[k] = Σ |u_i − u_j|² with i = rows[k], over the max(1, n − f − 2) others j of `rows` closest to i, f = byzantine.
///
/// rows     [n] indices of updates, all different.
/// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3.
std::vector<double> krum_scores(const InnerProducts& products, std::span<const std::size_t> rows, std::size_t byzantine);

}  // namespace fedhive::aggregation
