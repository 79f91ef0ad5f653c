// The components of the updates along the direction in which they differ most.
#pragma once

#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <vector>

namespace fedhive::aggregation {

/// result[i] = ⟨u_i − ū, v⟩ for rows 0 to n − 1, with ū their mean and v the leading right singular vector of the rows u_i − ū, |v| = 1; the
/// result of the row farthest from ū is positive. All 0 if the rows are equal.
///
/// Shapes   1 <= n <= products.rows().
/// Error    about 1e-10 unless two singular values are nearly equal: power iteration on the inner products.
/// Cost     n² for each iteration; at most 1000 iterations.
std::vector<double> along_leading_direction(const InnerProducts& products, std::size_t n);

}  // namespace fedhive::aggregation
