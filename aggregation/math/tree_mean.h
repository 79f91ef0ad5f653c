// A weighted mean of updates on the host, as fast as memory gives them.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstddef>

namespace fedhive::aggregation {

/// out[c] = f32(tree sum of column c / terms.total) for c < size: the bits of element::tree_mean, up to eight updates in a pass.
/// Its speed is that of a copy (results/cohort).
void tree_mean(float* out, const element::TreeTerms& terms, std::size_t size);

}  // namespace fedhive::aggregation
