// Rules about measures of the model that clients are sent: training.measure, and sampling by measured losses.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"

namespace fedhive::sim {

/// Throws ConfigError: the task has no such measure, or the mode's clients cannot measure.
void check_measures(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
