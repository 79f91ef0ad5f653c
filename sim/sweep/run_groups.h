// The runs of a sweep grouped by setting: those of a group differ only in their seeds.
#pragma once

#include "sim/record/run_state.h"
#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct RunGroup {
    std::vector<std::string> settings;  // the values of setting_keys()
    std::vector<std::size_t> finished;  // indices of the sweep's finished runs
    std::size_t runs = 0;               // their number, finished or not
};

/// The run's case, a named set of keys in the sweep file; empty: none.
std::string case_of(const nlohmann::ordered_json& run);

RunState state_of(const nlohmann::ordered_json& run);

/// The keys that vary, without `seed` and `seeds.…`: runs that differ only in these are repetitions. If cases have names, `case`
/// comes first and replaces the keys that it sets.
std::vector<std::string> setting_keys(const nlohmann::ordered_json& sweep);

/// `sweep`: the content of sweep.json. Groups are in the order of its runs.
std::vector<RunGroup> group_runs(const nlohmann::ordered_json& sweep);

/// A result column of the tables.
struct Outcome {
    std::string head;
    std::optional<double> (*of)(const RunResult& result);
    int decimals;  // of a mean without an interval, which otherwise decides them
};

/// A sentence such as "Weights: SCAFFOLD uniform; others by examples." Empty if all runs weigh alike, or if runs of one name weigh in different
/// ways.
std::string weights_note(const nlohmann::ordered_json& sweep);

/// The metric that compares the runs: the main metric of the first run that has one.
const clients::Metric& metric_of(const std::vector<RunResult>& results);

/// The sweep's target value of the metric; empty: none.
std::optional<MetricTarget> target_of(const nlohmann::ordered_json& sweep);

/// Columns: metric and loss; rounds to the target if the sweep has one; results on the clients' held-out examples if runs have
/// them.
std::vector<Outcome> outcomes(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);

/// "| a | b |"; escapes characters that would end a cell in Markdown.
std::string markdown_row(const std::vector<std::string>& cells);
/// The header row and the separator below it; keys are printed as code.
std::string markdown_head(const std::vector<std::string>& keys, const std::vector<std::string>& columns);

}  // namespace fedhive::sim
