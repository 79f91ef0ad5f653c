// Accuracy and top-5 accuracy, the metrics of all tasks whose targets are classes.
#pragma once

#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

inline Metric accuracy() {
    return {.name = "accuracy",
            .title = "accuracy",
            .meaning = "accuracy",
            .range = fraction(),
            .of = [](const EvaluationResult& sums, double examples, double targets) {
                return static_cast<double>(sums.correct) / (examples * targets);
            }};
}

/// Only for more than five classes; otherwise it would always be 1.
inline Metric top5_accuracy() {
    return {.name = "top5_accuracy",
            .title = "top-5 acc.",
            .meaning = "top-5 accuracy",
            .range = fraction(),
            .over_classes = 5,
            .of = [](const EvaluationResult& sums, double examples, double targets) {
                return static_cast<double>(sums.among_five) / (examples * targets);
            }};
}

}  // namespace fedhive::clients
