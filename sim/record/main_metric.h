// The metric that runs are compared by, from the columns of their rounds.csv.
#pragma once

#include "clients/tasks/learning_task.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// That of the first column which is of a metric: a task's main one comes before its others. Null: there is none.
inline const clients::Metric* main_metric_of(const std::vector<std::string>& columns) {
    for (const std::string& column : columns)
        if (const clients::Metric* metric = clients::metric_of_column(column)) return metric;
    return nullptr;
}

/// The same; that of the default task where there is none yet.
inline const clients::Metric& shown_metric(const clients::Metric* metric) {
    return metric != nullptr ? *metric : clients::task_catalog().front().main_metric();
}

}  // namespace fedhive::sim
