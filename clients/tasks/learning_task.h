// What is learned from data, by name: each task lies in one file, with what it takes, its loss and its metrics. To add one: write its file, add
// its line to learning_task.cpp. What a loss and its sums are computed by stands in clients/training/losses.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/target.h"
#include "clients/protocol/task.h"

#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// A number that an evaluation comes to, besides the loss.
struct Metric {
    std::string name;     // "accuracy", which is test_accuracy in tables and keys
    std::string title;    // on screens, at most 10 characters
    std::string meaning;  // in a sentence: "mean squared error"
    Range range;          // of what it may be asked to reach
    bool higher_is_better = true;
    /// It is there only where there are more classes. Its column is then behind those of all other things, and empty where it is not there.
    std::int64_t over_classes = 0;
    /// Of sums over so many examples, each with as many targets.
    double (*of)(const EvaluationResult& sums, double examples, double targets) = nullptr;

    bool is_better(double one, double other) const { return higher_is_better ? one > other : one < other; }
    bool reaches(double value, double target) const { return !is_better(target, value); }
};

struct LearningTask {
    std::string name;
    std::string summary;              // half a line
    std::string source;               // of its loss
    std::vector<TargetKind> targets;  // that it takes; the first one is what data are asked for
    std::vector<Metric> metrics;      // in the order of rounds.csv; the first is the one that runs are compared by
    bool of_tokens = false;           // it takes no other examples

    const Metric& main_metric() const { return metrics.front(); }
    bool takes(TargetKind kind) const;
    /// Null: it has none of that name.
    const Metric* metric(std::string_view metric_name) const;
};

/// All tasks, in the order of REFERENCE.md.
const std::vector<LearningTask>& task_catalog();

/// The name must exist.
const LearningTask& learning_task(const std::string& name);

/// Those of all tasks, each once.
const std::vector<Metric>& metric_catalog();

/// The metric that a column of rounds.csv is of, such as test_accuracy; null: none.
const Metric* metric_of_column(std::string_view column);

}  // namespace fedhive::clients
