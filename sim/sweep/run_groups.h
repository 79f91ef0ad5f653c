// The runs of a sweep, by their settings: those of a group differ in nothing but their seeds.
#pragma once

#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct RunGroup {
    std::vector<std::string> settings;  // in the order of setting_keys()
    std::vector<std::size_t> finished;  // runs of the sweep
    std::size_t runs = 0;
};

/// What the sweep file calls the run's case; empty: nothing.
std::string case_of(const nlohmann::ordered_json& run);

/// The keys that vary, without `seeds.…`: runs that differ in those alone are repetitions, as with `seed`. Where cases have names, `case` is
/// the first, in the place of the keys that it decides.
std::vector<std::string> setting_keys(const nlohmann::ordered_json& sweep);

/// `sweep`: the content of sweep.json. In the order of its runs.
std::vector<RunGroup> group_runs(const nlohmann::ordered_json& sweep);

/// A column of the tables: something a run came to.
struct Outcome {
    std::string head;
    std::optional<double> (*of)(const RunResult& result);
    int decimals;  // where there is no interval to say how many
};

/// "Weights: SCAFFOLD uniform; others by examples." Empty where all weigh alike, or only a key can say it.
std::string weights_note(const nlohmann::ordered_json& sweep);

/// By which the runs of a sweep are compared: that of the first one that has any.
const clients::Metric& metric_of(const std::vector<RunResult>& results);

/// What the sweep's runs are to reach; empty: nothing.
std::optional<Target> target_of(const nlohmann::ordered_json& sweep);

/// Values of the metric, and loss; where the sweep has a target, rounds to it; where runs evaluated clients on their own examples, what came of that.
std::vector<Outcome> outcomes(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);

/// "| a | b |", with whatever Markdown would take for the end of a cell escaped.
std::string markdown_row(const std::vector<std::string>& cells);
/// The row above and the rule below it; keys are printed as code.
std::string markdown_head(const std::vector<std::string>& keys, const std::vector<std::string>& columns);
std::string escaped(std::string text);

}  // namespace fedhive::sim
