// Evaluates the parts of a formula that are numbers or one number for each update, in f64, in the order written.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation::formulas {

/// One number, or one for each update.
using Numbers = std::vector<double>;

/// x^y. A whole exponent of at most 64 multiplies, 0.5 takes the root, any other gives exp(y ln x).
double power(double x, double y);

/// The value of a node from the values of its arguments. The node is neither a vector nor a leaf nor a reduction over a vector. Where
/// one argument is a number and the other has one for each update, the number is used for each update.
///
/// Order    sum_k and mean_k add in cohort order; softmax_k subtracts the largest value first.
/// Values   rank_k: 0 for the smallest, equal values in cohort order; median_k: of an even number, the mean of the middle two;
///          simplex_k: the closest point of the simplex (aggregation/math/simplex.h).
Numbers evaluate(const Node& node, std::span<const Numbers* const> arguments);

}  // namespace fedhive::aggregation::formulas
