// Rules that look at more than one key. Private to sim/config.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

/// `strategy` is the catalog's entry for run.strategy. Throws ConfigError through `source`, so with file and line.
void check_rules(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source);

/// Why `name` cannot name a folder; empty where it can.
std::string name_problem(const std::string& name);

}  // namespace fedhive::sim
