// Learning tasks by name. Each task has a file with its targets, its losses, its metrics and the sums from which these are computed. To add a
// task, write its file and add its line to learning_task.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/target.h"
#include "clients/tasks/evaluation_sums.h"

#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// A number that an evaluation gives besides the loss.
struct Metric {
    std::string name;     // "accuracy"; test_accuracy in tables and keys
    std::string title;    // on screens, at most 10 characters
    std::string meaning;  // in a sentence: "mean squared error"
    KeyRange range;       // of values that a run may be asked to reach
    bool higher_is_better = true;
    /// If above 0, the metric exists only for data with more classes than this. Its column comes after all
    /// others, and is empty for other data.
    std::int64_t over_classes = 0;
    /// The sums by class from which it is computed. A metric with such sums exists only in runs that name it in evaluation.metrics, in a column
    /// of rounds.csv after all others.
    std::vector<std::string> needs{};
    /// The metric's value from the sums over `examples` examples with `targets` targets each.
    double (*of)(const EvaluationSums& sums, double examples, double targets) = nullptr;

    bool is_asked_for() const { return !needs.empty(); }
    bool is_better(double one, double other) const { return higher_is_better ? one > other : one < other; }
    bool reaches(double value, double target) const { return !is_better(target, value); }
};

struct LearningTask {
    std::string name;
    std::string summary;              // half a line
    std::string source;               // source of the task's own loss
    std::vector<TargetKind> targets;  // kinds that it accepts; a data format is asked for the first
    std::vector<std::string> losses;  // names from loss.h; the first is the task's own, which evaluations report
    std::vector<Metric> metrics;      // in the order of rounds.csv; runs are compared by the first
    std::vector<Sum> sums;            // from which the metrics are computed
    bool of_tokens = false;           // accepts examples of tokens only

    const Metric& main_metric() const { return metrics.front(); }
    bool takes(TargetKind kind) const;
    /// Null if the task has no metric of that name.
    const Metric* metric(std::string_view metric_name) const;
    /// The metrics of a run that names `asked` in evaluation.metrics: the usual ones, then those.
    std::vector<Metric> metrics_with(const std::vector<std::string>& asked) const;
};

/// All tasks, in the order of REFERENCE.md.
const std::vector<LearningTask>& task_catalog();

/// The name must exist.
const LearningTask& learning_task(const std::string& name);

/// The metrics of all tasks, each once.
const std::vector<Metric>& metric_catalog();

/// The names of all metrics that exist only in runs that ask for them.
std::vector<std::string> asked_metric_names();

/// The metric in a column of rounds.csv such as test_accuracy; null if the column has none.
const Metric* metric_of_column(std::string_view column);

}  // namespace fedhive::clients
