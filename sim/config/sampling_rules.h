// Rules for `sampling`.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"

namespace fedhive::sim {

/// Throws ConfigError: keys of the sampler that do not go with the cohort; a mode in which it has no choice; a sampler that may draw a
/// client several times where that cannot count.
void check_sampling(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
