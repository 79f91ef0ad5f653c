// The functions of formulas that read the inner products of a cohort's K updates u_k. x, y: one number for each update, or one for all.
//
//   dot_k(x)          ⟨u_k, Σ_j x_j u_j⟩
//   cos_k(x)          cosine of u_k and Σ_j x_j u_j; 0 if either vector is 0
//   distance_k(x)     |u_k − Σ_j x_j u_j|
//   nearest_k(m, x)   Σ |u_k − u_j|² over the m updates j ≠ k with x_j ≠ 0 that are nearest to u_k; over all of them if there are fewer.
//                     nearest_k(m) is nearest_k(m, 1)
//   bipartition_k(x)  splits the updates with x_k ≠ 0 into two parts and minimises the largest cosine between an update of one part and one of
//                     the other (Sattler et al. 2021, arXiv:1910.01991): 0 for the part of the first such update, 1 for the other part; 0 for
//                     updates with x_k = 0, and for all if fewer than two have x_k ≠ 0
//   leading_k(x)      the part of u_k − ū along the direction in which the updates with x_k ≠ 0 differ most, all scaled to norm 1
//                     (math/leading_direction.h)
//   closest_k(x)      max_{j ≠ k} cos(u_k, u_j) · min(1, x_k / x_j), x ≥ 0, and at least 0; closest_k(1) is the largest cosine
//   shortest_k(x, e)  the weights λ ≥ 0 of the shortest Σ λ_k u_k / |u_k| with Σ λ_k = Σ x_k and |λ_k − x_k| ≤ e, for x ≥ 0
//                     (math/shortest_combination.h)
//   without_conflicts_k(x, y)  the coefficients of Σ_k g_k, where g_k is u_k, if y_k ≠ 0 without its conflicts with others, by ascending x
//                     (math/conflicts.h)
#pragma once

#include "aggregation/formulas/numbers.h"
#include "aggregation/math/inner_products.h"

#include <span>

namespace fedhive::aggregation::formulas {

/// The value of a node that calls one of these functions: one number for each update. products: inner products of the updates, in order.
///
/// Order    sums add in the order of InnerProducts, j in cohort order; nearest_k adds the smallest distance first. bipartition_k joins the pair
///          of the largest cosine until two parts are left; among equal cosines, the first pair in cohort order.
/// Memory   K doubles.
/// Throws   Fault if `products` is null or empty.
Numbers of_products(Opcode op, std::span<const Numbers* const> arguments, const InnerProducts* products);

}  // namespace fedhive::aggregation::formulas
