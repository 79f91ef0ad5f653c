// An evaluation's sums by name, for tests of engines.
#pragma once

#include "clients/data/target.h"
#include "clients/tasks/evaluation_sums.h"

namespace fedhive::testing {

struct Evaluated {
    double loss_sum = 0.0;
    double absolute_sum = 0.0;  // of numbers
    double correct = 0.0;       // of classes, as among_five
    double among_five = 0.0;
    double ignored = 0.0;
};

inline clients::EvaluationSums empty_sums(clients::TargetKind kind) {
    return clients::EvaluationSums(
        clients::SumsPlan::of(kind == clients::TargetKind::Numbers ? "regression" : "classification", 0));
}

inline Evaluated by_name(const clients::EvaluationSums& sums, clients::TargetKind kind) {
    Evaluated result{.loss_sum = sums.loss(), .ignored = sums.ignored()};
    if (kind == clients::TargetKind::Numbers) {
        result.absolute_sum = sums.one("absolute");
    } else {
        result.correct = sums.one("correct");
        result.among_five = sums.one("among_five");
    }
    return result;
}

}  // namespace fedhive::testing
