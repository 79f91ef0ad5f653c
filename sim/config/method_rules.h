// Rules of a config with strategy.file. Private to sim/config.
#pragma once

#include "sim/config/rules.h"

namespace fedhive::sim {

/// Checks the method with the mode, the rest of the strategy and the slots. Throws ConfigError. `run` has a method.
void check_method(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
