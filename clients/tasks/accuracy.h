// Metrics of all tasks whose targets are classes, and their sums.
#pragma once

#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

inline Sum correct() {
    return {.name = "correct", .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) {
                *sum += outcome.predicted == outcome.label ? 1.0 : 0.0;
            }};
}

inline Sum among_five() {
    return {.name = "among_five",
            .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) { *sum += outcome.ahead < 5 ? 1.0 : 0.0; }};
}

inline Metric accuracy() {
    return {.name = "accuracy",
            .title = "accuracy",
            .meaning = "accuracy",
            .range = fraction(),
            .of = [](const EvaluationSums& sums, double examples, double targets) {
                return sums.one("correct") / (examples * targets);
            }};
}

/// Only for more than five classes; otherwise it would always be 1.
inline Metric top5_accuracy() {
    return {.name = "top5_accuracy",
            .title = "top-5 acc.",
            .meaning = "top-5 accuracy",
            .range = fraction(),
            .over_classes = 5,
            .of = [](const EvaluationSums& sums, double examples, double targets) {
                return sums.one("among_five") / (examples * targets);
            }};
}

}  // namespace fedhive::clients
