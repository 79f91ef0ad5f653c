// Rules that look at more than one key. Private to sim/config.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

/// `strategy` is the catalog's entry for run.strategy; `so_far` what is known to be wrong, a line for each mistake. Throws ConfigError through
/// `source`, so with file and line, with these among its own.
void check_rules(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source, const std::string& so_far);

/// Why `name` cannot name a folder; empty where it can.
std::string name_problem(const std::string& name);

}  // namespace fedhive::sim
