// Evaluates the nodes of a formula whose value is a number, or a number per update, in f64, in the order written.
#pragma once

#include "aggregation/formulas/expression.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation::formulas {

/// One number, or one for each update.
using Numbers = std::vector<double>;

/// x^y: by multiplications for an integer |y| <= 64, √x for y = 0.5, else exp(y ln x).
double power(double x, double y);

/// The value of a node whose arguments are all Numbers. A single number is broadcast to all updates. Executor computes leaves, vectors and
/// reductions over vectors.
///
/// Order    sum_k and mean_k add in cohort order; softmax_k subtracts the largest value first.
/// Values   rank_k: 0 for the smallest, equal values in cohort order; median_k: for an even count, the mean of the middle two;
///          simplex_k: the closest point of the simplex (aggregation/math/simplex.h).
Numbers evaluate(const Node& node, std::span<const Numbers* const> arguments);

}  // namespace fedhive::aggregation::formulas
