// Rules about more than one key. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// Checks all rules. `strategy`: the catalog's entry for run.strategy; `so_far`: mistakes found before, one per line. Throws one ConfigError
/// through `source`, so with file and line, which includes the mistakes in `so_far`.
void check_rules(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source, const std::string& so_far);

/// Why `name` cannot be a folder's name; empty if it can.
std::string name_problem(const std::string& name);

}  // namespace fedhive::sim
