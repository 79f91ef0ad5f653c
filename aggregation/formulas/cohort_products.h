// The functions of formulas that read the inner products of a cohort's K updates u_k. x: one number for each update, or one for all.
//
//   dot_k(x)          ⟨u_k, Σ_j x_j u_j⟩
//   cos_k(x)          cosine of u_k and Σ_j x_j u_j; 0 where one of them is 0
//   distance_k(x)     |u_k − Σ_j x_j u_j|
//   nearest_k(m)      Σ |u_k − u_j|² over the m updates j ≠ k that are nearest to u_k; over all others if there are fewer
//   bipartition_k(x)  splits the updates with x_k ≠ 0 into two parts whose largest cosine across the parts is least (Sattler et al. 2021,
//                     arXiv:1910.01991): 0 in the part of the first such update, 1 in the other; all 0 for fewer than two updates
#pragma once

#include "aggregation/formulas/numbers.h"
#include "aggregation/math/inner_products.h"

namespace fedhive::aggregation::formulas {

/// The value of a node that calls one of these functions: one number for each update. products: inner products of the updates, in order.
///
/// Order    as InnerProducts, j in cohort order; nearest_k adds the smallest distance first; of equal cosines, a bipartition joins the first pair.
/// Memory   K doubles.
/// Throws   Fault without products.
Numbers of_products(Opcode op, const Numbers& argument, const InnerProducts* products);

}  // namespace fedhive::aggregation::formulas
