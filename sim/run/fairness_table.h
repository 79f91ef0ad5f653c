// fairness.csv and client_accuracy.csv, or client_mse.csv, as text: what evaluations on the clients' held-out examples leave (results/README.md).
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

/// A row of fairness.csv for each model that was evaluated after round `round`, from 1.
std::string fairness_rows(std::int64_t round, const ClientsTest& test, const clients::Metric& metric);

/// "client_accuracy.csv"
std::string client_table_name(const clients::Metric& metric);

/// All of it. `owners`: the clients' names, which then come last; empty: they have none.
std::string client_table(std::int64_t round, const ClientsTest& test, const clients::Metric& metric,
                         const std::vector<std::string>& owners = {});

/// The round that such a table is of; 0 where the text is none.
std::int64_t round_of_client_table(std::string_view text, const clients::Metric& metric);

}  // namespace fedhive::sim
