// The weighted mean of updates on the host, for whole vectors.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstddef>

namespace fedhive::aggregation {

/// out[c] = f32(S_c / terms.total) for c < size, S_c the tree sum of column c, with the bits of element::tree_mean. Reads up to eight updates in one
/// pass, at the speed of a memory copy (results/cohort).
void tree_mean(float* out, const element::TreeTerms& terms, std::size_t size);

}  // namespace fedhive::aggregation
