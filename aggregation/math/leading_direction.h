// The components of the updates along the direction in which they differ most.
#pragma once

#include "aggregation/math/inner_products.h"

#include <span>
#include <vector>

namespace fedhive::aggregation {

/// result[i] = ⟨u_i − ū, v⟩ / (its Euclidean norm over i), for the rows i with among[i] ≠ 0, else 0: ū is the mean of these rows and v the
/// leading right singular vector of the rows u_i − ū. The result of the row farthest from ū is positive. All 0 if the rows are equal.
///
/// Shapes   among, result: [n] for the first n rows, n <= products.rows().
/// Error    about 1e-10 unless two singular values are nearly equal: power iteration on the inner products.
/// Cost     n² for each iteration; at most 1000 iterations.
std::vector<double> along_leading_direction(const InnerProducts& products, std::span<const double> among);

}  // namespace fedhive::aggregation
