// The server's tree of noise (server optimiser dp_ftrl) by the config: what goes with it, and how long a tree is.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/privacy/accountant.h"

#include <optional>

namespace fedhive::sim {

/// The server's optimiser has a tree's noise.
bool has_tree_noise(const RunConfig& run);

/// Its multiplier and restarts; empty without one. Of a loaded config.
std::optional<NoiseTree> noise_tree_of(const RunConfig& run);

/// Rounds of a tree: as given, or clients / cohort rounded down, at least 1.
std::int64_t restart_every(const RunConfig& run);

/// Throws ConfigError: something does not go with a tree's noise. Private to sim/config.
void check_tree_noise(const RunConfig& run, const ConfigSource& source);

/// With privacy: throws ConfigError where a client may take part more than once in a tree. Private to sim/config.
void check_once_a_tree(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
