// Noise of a binary tree (server optimiser dp_ftrl): the tree's length by the config, and rules about other keys.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/privacy/accountant.h"

#include <optional>

namespace fedhive::sim {

/// Whether the server's optimiser adds a tree's noise.
bool has_tree_noise(const RunConfig& run);

/// The tree of a loaded config: multiplier and restarts; empty without a tree.
std::optional<NoiseTree> noise_tree_of(const RunConfig& run);

/// Rounds of a tree: as given, or clients / cohort rounded down, at least 1.
std::int64_t restart_every(const RunConfig& run);

/// Throws ConfigError for keys that may not be combined with a tree's noise. Private to sim/config.
void check_tree_noise(const RunConfig& run, const ConfigSource& source);

/// With privacy: throws ConfigError if a client may take part more than once in a tree. Private to sim/config.
void check_once_a_tree(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
