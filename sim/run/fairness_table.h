// fairness.csv and client_accuracy.csv (or client_mse.csv) as text: results of evaluations on the clients' held-out examples
// (results/README.md).
#pragma once

#include "clients/tasks/learning_task.h"
#include "sim/record/table.h"
#include "sim/round/fairness.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

struct FairnessOfModel {
    std::int64_t round = 0;
    std::string_view model;  // "global", "personalized"
    const Fairness& of;
};

/// The columns of fairness.csv. `metric`: the task's main one.
Table<FairnessOfModel> fairness_csv(const clients::Metric& metric);

struct QualityOfClient {
    std::int64_t round = 0;
    std::string_view model;
    const ClientQuality& client;
    std::string_view owner{};
};

/// The columns of client_accuracy.csv.
Table<QualityOfClient> client_quality_csv(const clients::Metric& metric, bool with_owners);

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
