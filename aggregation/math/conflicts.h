// Sums of vectors without the parts in which they conflict.
#pragma once

#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// c with Σ_k c_k u_k = Σ_k g_k. If projected[k] is 0, g_k = u_k. Else g_k begins as u_k and loses its conflicts with the others, one after
/// the other:  g_k ← g_k − ⟨g_k, u_j⟩ / |u_j|² u_j  for j ≠ k with ⟨g_k, u_j⟩ < 0, by ascending order[j], of equal ones by j.
///
/// Shapes   order, projected, result: [K], K = products.rows().
/// Cost     K³.
/// Source   Wang et al. 2021 (arXiv:2104.14937), internal conflicts; Yu et al. 2020 (arXiv:2001.06782), Algorithm 1, in a drawn order.
std::vector<double> sum_without_conflicts(const InnerProducts& products, std::span<const double> order,
                                          std::span<const double> projected);

}  // namespace fedhive::aggregation
