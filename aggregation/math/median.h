// Coordinate-wise median of the updates of a round; weights are ignored.
#pragma once

#include "aggregation/math/aggregator.h"

#include <memory>

namespace fedhive::aggregation {

/// out[i] = median_k u_k[i]; the mean of the middle two when K is even.
///
/// Shapes   updates: K vectors of the model's P floats, one client a slot, finite; K >= 1.
/// Order    a fixed comparison network per column: same cohort, same bits.
/// Source   Yin et al. 2018 (arXiv:1803.01498), Definition 1 and Algorithm 1, option I.
std::unique_ptr<Aggregator> make_median();

}  // namespace fedhive::aggregation
