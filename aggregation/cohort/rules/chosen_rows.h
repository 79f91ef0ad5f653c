// For rules whose result is the mean of the updates with the smallest scores: the choice of those rows, and their coefficients.
#pragma once

#include "aggregation/cohort/weight_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// 0, 1, …, count − 1.
std::vector<std::size_t> all_rows(std::size_t count);

/// The min(count, scores.size()) rows of the smallest scores, smallest first; of equal ones, the earlier row comes first.
std::vector<std::size_t> rows_of_smallest(std::span<const double> scores, std::size_t count);

/// 1 for each row of `chosen`, 0 for the other ones of `count`.
Coefficients mean_of(std::span<const std::size_t> chosen, std::size_t count);

}  // namespace fedhive::aggregation
