// The shortest combination of normalised vectors, by weights near given ones.
#pragma once

#include "aggregation/math/inner_products.h"

#include <span>
#include <vector>

namespace fedhive::aggregation {

/// λ = argmin |Σ_k λ_k û_k|² over Σ λ_k = Σ p_k, λ_k ≥ 0, |λ_k − p_k| ≤ spread; û_k = u_k / |u_k|, or 0 if u_k is 0.
/// Weight moves from the steepest k that may lose some to the flattest that may gain some, by the best length, until their slopes
/// ⟨û_k, Σ λ û⟩ agree to 1e-12.
///
/// Shapes   p: [K] numbers, at least 0; K = products.rows().
/// Cost     K for each move; at most 1000 K moves.
/// Source   Hu et al. 2022 (arXiv:2006.11489), Algorithm 1: the problem; the moves are those of sequential minimal optimisation.
std::vector<double> shortest_combination(const InnerProducts& products, std::span<const double> p, double spread);

}  // namespace fedhive::aggregation
