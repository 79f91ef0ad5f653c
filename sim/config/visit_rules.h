// Rules about strategy.visit (clients that are trained by a Python function), and which keys may be combined with it.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"

namespace fedhive::sim {

/// Throws ConfigError for keys whose work the function would have to do itself, and for modes whose clients do not train alone.
void check_visit(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
