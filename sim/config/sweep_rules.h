// What early stopping asks of every run. Private to sim/config.
#pragma once

#include "sim/config/sweep_config.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// `root` is the sweep file's. Throws ConfigError: a run that is over when the first comparison comes, has no accuracy by then, or may compute
/// something else when it is paused and resumed. Nothing is asked where the rule is none.
void check_early_stopping(const SweepConfig& sweep, const Node& root);

/// Throws ConfigError: a target of a metric that a run's task has not, or a second one.
void check_targets(const SweepConfig& sweep, const Node& root);

}  // namespace fedhive::sim
