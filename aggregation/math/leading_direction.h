// The direction in which updates differ most.
#pragma once

#include "aggregation/math/inner_products.h"

#include <cstddef>
#include <vector>

namespace fedhive::aggregation {

/// ⟨u_i − ū, v⟩ of rows 0 to n − 1, with ū their mean and v the leading right singular vector of the rows u_i − ū; of length 1, and
/// the sign is that of the row farthest from ū. From inner products by power iteration, to about 1e-10 unless two singular values
/// are nearly equal. All 0 if the rows are equal.
///
/// Shapes   1 <= n <= products.rows(). Cost n² for each iteration, at most 1000.
std::vector<double> along_leading_direction(const InnerProducts& products, std::size_t n);

}  // namespace fedhive::aggregation
