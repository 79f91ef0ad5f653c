// The metric by which runs are compared, found from the columns of rounds.csv.
#pragma once

#include "clients/tasks/learning_task.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// The metric of the first column that is one: a task's main metric comes before its others. Null if there is none.
inline const clients::Metric* main_metric_of(const std::vector<std::string>& columns) {
    for (const std::string& column : columns)
        if (const clients::Metric* metric = clients::metric_of_column(column)) return metric;
    return nullptr;
}

/// `metric`, or the default task's main metric if it is null.
inline const clients::Metric& shown_metric(const clients::Metric* metric) {
    return metric != nullptr ? *metric : clients::task_catalog().front().main_metric();
}

}  // namespace fedhive::sim
