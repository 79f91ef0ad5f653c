// Measures: numbers of the model that a client was sent, computed on the client's training examples before it trains. They are reports of
// the visit (clients/protocol/reports.h) with the names sent_loss, sent_accuracy, …
//
//   loss       Σ loss / counted examples, of the task's own loss, as evaluations report it
//   accuracy   or another of the task's usual metrics, over the counted targets
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

/// The measures of a task: loss, the metrics that each run of the task has, the gradient's norm. Without an argument: those of all tasks, each
/// once.
std::vector<std::string> measures_of(const LearningTask& task);
std::vector<std::string> measure_names();

/// The report of a measure; `task` must have that measure.
ReportSpec report_of_measure(const LearningTask& task, const std::string& measure);

/// Whether one of the reports is a measure, so that clients make a pass for it.
bool any_measured(const Reports& reports);
/// Whether one of them needs the model's outputs, that is, a forward pass.
bool measures_outputs(const Reports& reports);
/// The index of the gradient's norm among the reports; empty if it is none of them. It needs a forward and a backward pass.
std::optional<std::size_t> place_of_gradient_norm(const Reports& reports);

/// Writes the measures of the model's outputs among `reports` to `to`, from the sums of one client's `examples` examples with `targets`
/// targets each. 0 if no target counts.
void measure(const EvaluationSums& sums, const LearningTask& task, std::uint64_t examples, std::uint64_t targets,
             const Reports& reports, ReportValues& to);

}  // namespace fedhive::clients
