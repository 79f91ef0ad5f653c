// The numbers of formulas and of a cohort: f64, in the order written.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation::formulas {

/// A number, or one for each update.
using Numbers = std::vector<double>;

/// x^y. A whole exponent of at most 64 multiplies, 0.5 takes the root, any other gives exp(y ln x).
double power(double x, double y);

/// The value of a node from those of its arguments; the node is not a vector, a leaf or a reduction over a vector. A number
/// combined with a cohort counts for each update.
///
/// Order    sum_k and mean_k add in cohort order; softmax_k subtracts the largest value first; rank_k: 0 for the smallest, equal
///          values by their place; median_k: the mean of the middle two; simplex_k: onto the simplex (aggregation/math/simplex.h).
Numbers evaluate(const Node& node, std::span<const Numbers* const> arguments);

}  // namespace fedhive::aggregation::formulas
