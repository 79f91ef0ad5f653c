// What formulas of a cohort read, set in an executor, and what they give.
#pragma once

#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/executor.h"
#include "aggregation/formulas/method_formulas.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

/// Numbers that formulas of the cohort give in a round, by name, for formulas of vectors to read.
using CohortNumbers = std::map<std::string, double>;

void set_keys(Executor& executor, const MethodFormulas& method);

/// Sets k.n, k.steps, …, the reports in their order, round, clients, received, and the inner products.
void set_cohort(Executor& executor, const std::vector<std::string>& reports, const RoundUpdates& updates);

/// After run(): the targets beside `weight`.
CohortNumbers numbers_beside_weights(const Executor& executor);

/// After run(): the target `weight`, one for each of `count` updates.
Numbers weights_of(const Executor& executor, std::size_t count);

}  // namespace fedhive::aggregation::formulas
