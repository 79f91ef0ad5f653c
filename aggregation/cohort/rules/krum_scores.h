// The scores of Krum, which Bulyan uses, too.
#pragma once

#include "aggregation/cohort/weight_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// score(i) = Σ |u_i − u_j|² over the max(1, n − f − 2) rows j closest to row i, with f = byzantine. Element k of the result is the
/// score of rows[k].
///
/// rows     [n], different rows of the products; no other row counts.
/// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3.
std::vector<double> krum_scores(const InnerProducts& products, std::span<const std::size_t> rows, std::size_t byzantine);

}  // namespace fedhive::aggregation
