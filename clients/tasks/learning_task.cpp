#include "clients/tasks/learning_task.h"

#include "aggregation/base/keys.h"

#include <algorithm>

namespace fedhive::clients {

// Each in the file of its name.
LearningTask classification();
LearningTask next_token();
LearningTask regression();

bool LearningTask::takes(TargetKind kind) const { return std::ranges::find(targets, kind) != targets.end(); }

const std::vector<LearningTask>& task_catalog() {
    static const std::vector<LearningTask> catalog = {classification(), regression(), next_token()};
    return catalog;
}

const LearningTask& learning_task(const std::string& name) { return entry_of(task_catalog(), name, "task"); }

const Metric* metric_of_column(std::string_view column) {
    constexpr std::string_view kBegins = "test_";
    if (!column.starts_with(kBegins)) return nullptr;
    for (const LearningTask& task : task_catalog())
        for (const Metric& metric : task.metrics)
            if (metric.name == column.substr(kBegins.size())) return &metric;
    return nullptr;
}

}  // namespace fedhive::clients
