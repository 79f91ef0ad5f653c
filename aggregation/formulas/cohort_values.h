// Sets the inputs of a cohort's formulas in an executor, and reads their results.
#pragma once

#include "aggregation/cohort/weight_rule.h"
#include "aggregation/formulas/executor.h"
#include "aggregation/formulas/method_formulas.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// Numbers that formulas of the cohort give in a round, by name, for formulas of vectors to read.
using CohortNumbers = std::map<std::string, double>;

void set_keys(Executor& executor, const MethodFormulas& method);

/// The memories of the server that are numbers.
std::vector<std::string> server_numbers_of(const MethodFormulas& method);

/// A method's names for a cohort, besides those that every cohort has, in the method's order.
struct CohortNames {
    explicit CohortNames(const MethodFormulas& method) : reports(method.reports), numbers(server_numbers_of(method)) {}

    std::vector<std::string> reports, numbers;
};

/// Sets k.n, k.steps, …, reports, round, clients, received, numbers of the server, and the inner products.
void set_cohort(Executor& executor, const CohortNames& names, const RoundUpdates& updates);

/// After run(): the targets that are numbers, beside weights.
CohortNumbers numbers_beside_weights(const Executor& executor);

/// After run(): the target `weight`, or another of one number for each of `count` updates.
Numbers weights_of(const Executor& executor, std::size_t count, std::string_view target = "weight");

}  // namespace fedhive::aggregation::formulas
