// Estimates of runs: builds each experiment and times a few local steps. Finds mistakes that only data or model show, before
// anything starts.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/sweep/sweep_record.h"

#include <span>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Experiment;

/// Kept short: an estimate, not a benchmark.
inline constexpr double kEstimateBudget_s = 10.0;

/// What the cost of a local step depends on, as text: the config without keys that do not affect time.
std::string cost_key(RunConfig run);

/// Local steps of all clients in a round.
double steps_per_round(const Experiment& run);

/// Test examples of all rounds that are evaluated, those with a backdoor's trigger included.
double test_examples_of_all_rounds(const Experiment& run);

struct StepTime {
    double seconds = 0.0;
    bool disturbed = false;  // other programs used this core for more than a fifth of the time
};

/// Median time of one client's local step in this process; its share if several are trained at once. If the first step, which
/// is slower, took less than `short_s`: the time of that.
StepTime time_of_step(const Experiment& run, double short_s);

struct Estimates {
    std::vector<RunEstimate> runs;  // one per config, in order
    std::size_t tried = 0;          // configs that were built; after kEstimateBudget_s the others get their mean
};

/// Configs that differ only in keys that do not affect time (seed, learning rate, …) are built once. GPU runs are timed on the
/// CPU. After kEstimateBudget_s, a config whose strategy, model or task no other had is built and not timed, for its mistakes.
/// ids: of the runs, in their order, or none. Throws ConfigError with file, line and key, and with ids for all runs that are refused.
Estimates estimate(std::span<const LoadedConfig> configs, std::span<const std::string> ids = {});

}  // namespace fedhive::sim
