// Measures: what a pass over a client's training examples without training tells of the model that was sent to it. The values are
// reports of the visit (clients/protocol/reports.h) under the names sent_loss, sent_accuracy, …
//
//   loss       Σ loss / counted examples, of the task's own loss, as evaluations report it
//   accuracy   or another of the task's usual metrics, likewise over the counted targets
//   gradient_norm   Euclidean norm of the mean gradient of the loss that is trained
#pragma once

#include "clients/protocol/reports.h"
#include "clients/tasks/learning_task.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// The norm of the mean gradient: the measure that needs a pass backward, too.
inline constexpr std::string_view kGradientNorm = "gradient_norm";

/// The measures of a task: loss, its metrics that every run of it has, the gradient's norm. Of all tasks, each once.
std::vector<std::string> measures_of(const LearningTask& task);
std::vector<std::string> measure_names();

/// The report of a measure; `task` must have that measure.
ReportSpec report_of_measure(const LearningTask& task, const std::string& measure);

/// At least one of the reports is a measure, so clients make a pass for it.
bool any_measured(const Reports& reports);
/// At least one is made of the model's outputs, by a pass forward.
bool measures_outputs(const Reports& reports);
/// The place of the gradient's norm among the reports, if it is there: a pass forward and backward.
std::optional<std::size_t> place_of_gradient_norm(const Reports& reports);

/// Writes the measures of the model's outputs among `reports` to `to`, from the sums of one client's `examples` examples with `targets`
/// targets each. 0 if no target counts.
void measure(const EvaluationSums& sums, const LearningTask& task, std::uint64_t examples, std::uint64_t targets,
             const Reports& reports, ReportValues& to);

}  // namespace fedhive::clients
