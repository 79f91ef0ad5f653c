// Metrics in which each class has the same weight, and the counts from which they are computed.
#pragma once

#include "clients/tasks/learning_task.h"

namespace fedhive::clients {

/// Evaluated targets of each class.
inline Sum labels_by_class() {
    return {.name = "labels_by_class",
            .shape = SumShape::Classes,
            .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) { sum[outcome.label] += 1.0; }};
}

/// Number of predictions of each class.
inline Sum predicted_by_class() {
    return {.name = "predicted_by_class",
            .shape = SumShape::Classes,
            .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) { sum[outcome.predicted] += 1.0; }};
}

/// Correct predictions of each class.
inline Sum correct_by_class() {
    return {.name = "correct_by_class",
            .shape = SumShape::Classes,
            .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t) {
                if (outcome.predicted == outcome.label) sum[outcome.label] += 1.0;
            }};
}

/// Mean recall over the classes that have evaluated targets: Σ_c correct_c / labels_c / their number.
///
/// Source   sklearn.metrics.balanced_accuracy_score.
inline Metric balanced_accuracy() {
    return {.name = "balanced_accuracy",
            .title = "bal. acc.",
            .meaning = "balanced accuracy",
            .range = fraction(),
            .needs = {"labels_by_class", "correct_by_class"},
            .of = [](const EvaluationSums& sums, double, double) {
                const std::span<const double> labels = sums.of("labels_by_class"), correct = sums.of("correct_by_class");
                double recalls = 0.0, classes = 0.0;
                for (std::size_t c = 0; c < labels.size(); ++c) {
                    if (labels[c] == 0.0) continue;
                    recalls += correct[c] / labels[c];
                    classes += 1.0;
                }
                return classes > 0.0 ? recalls / classes : 0.0;
            }};
}

/// Mean F1 over the classes that occur as label or prediction: Σ_c 2 · correct_c / (labels_c + predicted_c) / their number.
///
/// Source   sklearn.metrics.f1_score(average="macro").
inline Metric macro_f1() {
    return {.name = "macro_f1",
            .title = "macro F1",
            .meaning = "macro-averaged F1 score",
            .range = fraction(),
            .needs = {"labels_by_class", "predicted_by_class", "correct_by_class"},
            .of = [](const EvaluationSums& sums, double, double) {
                const std::span<const double> labels = sums.of("labels_by_class"), predicted = sums.of("predicted_by_class"),
                                              correct = sums.of("correct_by_class");
                double scores = 0.0, classes = 0.0;
                for (std::size_t c = 0; c < labels.size(); ++c) {
                    if (labels[c] + predicted[c] == 0.0) continue;
                    scores += 2.0 * correct[c] / (labels[c] + predicted[c]);
                    classes += 1.0;
                }
                return classes > 0.0 ? scores / classes : 0.0;
            }};
}

/// Number of targets of each class by predicted class, [label][predicted].
inline Sum confusion() {
    return {.name = "confusion",
            .shape = SumShape::Pairs,
            .add = [](double* sum, const TargetOutcome& outcome, std::uint32_t classes) {
                sum[std::size_t{outcome.label} * classes + outcome.predicted] += 1.0;
            }};
}

}  // namespace fedhive::clients
