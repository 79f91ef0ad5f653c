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

/// The numbers that a method's `cohort` formulas compute in a round, by name; its `server` formulas read them.
using CohortNumbers = std::map<std::string, double>;

void set_keys(Executor& executor, const MethodFormulas& method);

/// The memories of the server that are numbers.
std::vector<std::string> server_numbers_of(const MethodFormulas& method);

/// Names that a method's `cohort` formulas may read besides those of every method, in the method's order.
struct CohortNames {
    explicit CohortNames(const MethodFormulas& method) : reports(method.reports), numbers(server_numbers_of(method)) {}

    std::vector<std::string> reports, numbers;
};

/// Sets k.n, k.steps, …, reports, round, clients, received, numbers of the server, and the inner products.
void set_cohort(Executor& executor, const CohortNames& names, const RoundUpdates& updates);

/// For updates with the root client's: sets its products with the others, and `of_updates` as the inner products, which must outlive run().
void set_root(Executor& executor, const RoundUpdates& updates, InnerProducts& of_updates);

/// After run(): the values of the targets that are numbers, that is, of all targets but weights.
CohortNumbers numbers_beside_weights(const Executor& executor);

/// After run(): the value of `target`, one number for each of `count` updates.
Numbers weights_of(const Executor& executor, std::size_t count, std::string_view target = "weight");

}  // namespace fedhive::aggregation::formulas
