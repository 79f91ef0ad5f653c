// Rules for strategy.visit: what goes with clients whose work is a function in Python.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"

namespace fedhive::sim {

/// Throws ConfigError for what the function would have to do itself, and for modes whose clients do not train alone.
void check_visit(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
