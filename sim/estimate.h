// What runs will take, found by making each experiment real and timing a few local steps of it. That also finds what only the data or the
// model can tell to be wrong, before anything starts.
#pragma once

#include "sim/config/config.h"
#include "sim/sweep/sweep_record.h"

#include <span>
#include <vector>

namespace fedhive::sim {

/// Kept small: it is a look, not a benchmark.
inline constexpr double kEstimateBudget_s = 10.0;

struct Estimates {
    std::vector<RunEstimate> runs;  // one for each config, in order
    std::size_t tried = 0;  // how many different ones were made real; after kEstimateBudget_s the others get the mean of those
};

/// Configs that differ in nothing that costs time (seed, learning rate, …) are made real once. Runs on a GPU are timed on the CPU. Throws
/// ConfigError with file, line and key.
Estimates estimate(std::span<const LoadedConfig> configs);

}  // namespace fedhive::sim
