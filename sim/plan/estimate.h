// What runs will take, found by making each experiment real and timing a few local steps of it. That also finds what only the data or the
// model can tell to be wrong, before anything starts.
#pragma once

#include "sim/config/config.h"
#include "sim/sweep/sweep_record.h"

#include <span>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Experiment;

/// Kept small: it is a look, not a benchmark.
inline constexpr double kEstimateBudget_s = 10.0;

/// What the cost of a local step depends on, as text: the config without what costs nothing.
std::string cost_key(RunConfig run);

/// Local steps of all clients of a round.
double steps_per_round(const Experiment& run);

struct StepTime {
    double seconds = 0.0;
    bool disturbed = false;  // others used this core for more than a fifth of the time
};

/// One client's local step in this process, its share where several are trained at once; where already the first one, which is slower than those
/// after it, took less than `short_s`, that.
StepTime time_of_step(const Experiment& run, double short_s);

struct Estimates {
    std::vector<RunEstimate> runs;  // one for each config, in order
    std::size_t tried = 0;  // how many different ones were made real; after kEstimateBudget_s the others get the mean of those
};

/// Configs that differ in nothing that costs time (seed, learning rate, …) are made real once. Runs on a GPU are timed on the CPU. Throws
/// ConfigError with file, line and key.
Estimates estimate(std::span<const LoadedConfig> configs);

}  // namespace fedhive::sim
