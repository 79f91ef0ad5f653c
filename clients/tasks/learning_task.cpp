#include "clients/tasks/learning_task.h"

#include <algorithm>

namespace fedhive::clients {

// Each is defined in the file of its name.
LearningTask classification();
LearningTask next_token();
LearningTask regression();

namespace {

const Metric* named(const std::vector<Metric>& metrics, std::string_view name) {
    const auto found = std::ranges::find(metrics, name, &Metric::name);
    return found == metrics.end() ? nullptr : &*found;
}

}  // namespace

const Metric* LearningTask::metric(std::string_view metric_name) const { return named(metrics, metric_name); }

std::vector<Metric> LearningTask::metrics_with(const std::vector<std::string>& asked) const {
    std::vector<Metric> found;
    for (const Metric& each : metrics)
        if (!each.is_asked_for() || std::ranges::find(asked, each.name) != asked.end()) found.push_back(each);
    return found;
}

bool LearningTask::takes(TargetKind kind) const { return std::ranges::find(targets, kind) != targets.end(); }

const std::vector<LearningTask>& task_catalog() {
    static const std::vector<LearningTask> catalog = {classification(), regression(), next_token()};
    return catalog;
}

const LearningTask& learning_task(const std::string& name) { return entry_of(task_catalog(), name, "task"); }

const std::vector<Metric>& metric_catalog() {
    static const std::vector<Metric> catalog = [] {
        std::vector<Metric> all;
        for (const LearningTask& task : task_catalog())
            for (const Metric& metric : task.metrics)
                if (named(all, metric.name) == nullptr) all.push_back(metric);
        return all;
    }();
    return catalog;
}

std::vector<std::string> asked_metric_names() {
    std::vector<std::string> names;
    for (const Metric& metric : metric_catalog())
        if (metric.is_asked_for()) names.push_back(metric.name);
    return names;
}

const Metric* metric_of_column(std::string_view column) {
    constexpr std::string_view kBegins = "test_";
    return column.starts_with(kBegins) ? named(metric_catalog(), column.substr(kBegins.size())) : nullptr;
}

}  // namespace fedhive::clients
