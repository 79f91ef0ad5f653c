// Rules for `sampling`.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"

namespace fedhive::sim {

/// Throws ConfigError: keys of the sampler that contradict the cohort; a mode in which the sampler has no choice; a sampler that may draw a client
/// several times, in a run in which repeated draws have no effect.
void check_sampling(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
