// The share of classes that are told right: of all tasks whose targets are classes.
#pragma once

#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

inline Metric accuracy() {
    return {.name = "accuracy", .title = "accuracy", .of = [](const EvaluationResult& sums, double examples, double targets) {
                return static_cast<double>(sums.correct) / (examples * targets);
            }};
}

}  // namespace fedhive::clients
