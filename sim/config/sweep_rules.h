// Rules of early stopping and targets for every run. Private to sim/config.
#pragma once

#include "sim/config/sweep_config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// Throws ConfigError for a run that ends before the first rung, is not evaluated by then, or may compute other bits after a pause and resume.
/// `root`: of the sweep file. Does nothing if the rule is none.
void check_early_stopping(const SweepConfig& sweep, const YamlNode& root);

/// Throws ConfigError for a target of a metric that a run's task does not have, and for a second target.
void check_targets(const SweepConfig& sweep, const YamlNode& root);

}  // namespace fedhive::sim
