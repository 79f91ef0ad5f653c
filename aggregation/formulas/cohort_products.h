// Functions of formulas over the inner products of a cohort's updates. x: one number for each update, or one for all.
//
//   dot_k(x)          ⟨u_k, Σ_j x_j u_j⟩
//   cos_k(x)          the cosine of the same vectors; 0 where one of them is 0
//   distance_k(x)     |u_k − Σ_j x_j u_j|
//   nearest_k(m)      Σ |u_k − u_j|² over the m updates j ≠ k that are nearest to u_k; over all others if there are fewer
//   bipartition_k(x)  the updates with x_k ≠ 0 in two parts, so that the largest cosine between the parts is least (Sattler et al. 2021,
//                     arXiv:1910.01991): 1 in the part without the first of them, else 0; all 0 for fewer than two
#pragma once

#include "aggregation/formulas/numbers.h"
#include "aggregation/math/inner_products.h"

namespace fedhive::aggregation::formulas {

/// The value of a node whose op is_of_products, one number for each update. products: of the updates, in their order.
///
/// Order    as InnerProducts, j in cohort order; nearest_k adds the smallest distance first; of equal cosines, a bipartition joins the first pair.
/// Memory   K numbers.
/// Throws   Fault without products.
Numbers of_products(Opcode op, const Numbers& argument, const InnerProducts* products);

}  // namespace fedhive::aggregation::formulas
