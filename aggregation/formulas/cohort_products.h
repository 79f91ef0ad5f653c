// The functions of formulas that read the inner products of a cohort's K updates u_k. x: one number for each update, or one for all.
//
//   dot_k(x)          ⟨u_k, Σ_j x_j u_j⟩
//   cos_k(x)          cosine of u_k and Σ_j x_j u_j; 0 if either vector is 0
//   distance_k(x)     |u_k − Σ_j x_j u_j|
//   nearest_k(m)      Σ |u_k − u_j|² over the m updates j ≠ k that are nearest to u_k; over all others if there are fewer
//   bipartition_k(x)  splits the updates with x_k ≠ 0 into two parts and minimises the largest cosine between an update of one part and one of
//                     the other (Sattler et al. 2021, arXiv:1910.01991): 0 for the part of the first such update, 1 for the other part; 0 for
//                     updates with x_k = 0, and for all if fewer than two have x_k ≠ 0
#pragma once

#include "aggregation/formulas/numbers.h"
#include "aggregation/math/inner_products.h"

namespace fedhive::aggregation::formulas {

/// The value of a node that calls one of these functions: one number for each update. products: inner products of the updates, in order.
///
/// Order    sums add in the order of InnerProducts, j in cohort order; nearest_k adds the smallest distance first. bipartition_k joins the pair
///          of the largest cosine until two parts are left; among equal cosines, the first pair in cohort order.
/// Memory   K doubles.
/// Throws   Fault if `products` is null or empty.
Numbers of_products(Opcode op, const Numbers& argument, const InnerProducts* products);

}  // namespace fedhive::aggregation::formulas
