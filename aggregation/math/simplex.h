// Points of the simplex: numbers of at least 0 whose sum is 1.
#pragma once

#include <vector>

namespace fedhive::aggregation {

/// The point of the simplex closest to `point`; at least one number.
///
/// Source   Duchi et al. 2008, "Efficient Projections onto the l1-Ball for Learning in High Dimensions", figure 1.
std::vector<double> onto_simplex(const std::vector<double>& point);

}  // namespace fedhive::aggregation
