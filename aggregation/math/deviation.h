// The standard deviation of each column of the updates of a round.
#pragma once

#include "aggregation/math/aggregator.h"

#include <memory>

namespace fedhive::aggregation {

/// out[i] = √(1/K Σ_k (u_k[i] − m)²), m = 1/K Σ_k u_k[i]. Weights and scales do not count; 0 for K = 1.
///
/// Shapes   updates: K × [P], one client a slot; K ≥ 1.
/// Order    both sums in f64 in cohort order, rounded to f32 once.
std::unique_ptr<Aggregator> make_deviation();

}  // namespace fedhive::aggregation
