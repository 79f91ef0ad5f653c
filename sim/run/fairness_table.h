// fairness.csv and client_accuracy.csv (or client_mse.csv) as text: results of evaluations on the clients' held-out examples
// (results/README.md).
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/round/fairness.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// The header of fairness.csv, with its line end. `metric`: the task's main one.
std::string fairness_columns(const clients::Metric& metric);

/// The rows of fairness.csv of round `round` (from 1): one for each evaluated model.
std::string fairness_rows(std::int64_t round, const ClientsTest& test, const clients::Metric& metric);

/// "client_accuracy.csv"
std::string client_table_name(const clients::Metric& metric);

/// The whole table of clients. `owners`: the clients' names, the last column; empty: no such column.
std::string client_table(std::int64_t round, const ClientsTest& test, const clients::Metric& metric,
                         const std::vector<std::string>& owners = {});

/// The round that such a table belongs to; 0 if the text is no such table.
std::int64_t round_of_client_table(std::string_view text, const clients::Metric& metric);

}  // namespace fedhive::sim
