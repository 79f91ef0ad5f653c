// The standard deviation of each column of the updates of a round.
#pragma once

#include "aggregation/math/aggregator.h"

#include <memory>

namespace fedhive::aggregation {

/// out[i] = √(1/K Σ_k (u_k[i] − m)²) with m = 1/K Σ_k u_k[i], over K updates. Weights and scales are ignored; 0 for K = 1.
///
/// Shapes   updates: K × [P] with P the model's floats, one client a slot; K ≥ 1.
/// Order    both sums in f64 in cohort order, rounded to f32 once.
std::unique_ptr<Aggregator> make_deviation();

}  // namespace fedhive::aggregation
