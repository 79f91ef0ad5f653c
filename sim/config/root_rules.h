// Rules for data.root_examples and the aggregators that need them.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/config/run_config.h"
#include "sim/strategies/strategy.h"

#include <string>

namespace fedhive::sim {

/// "root_trust, root_score": the aggregators that need root examples.
std::string aggregators_with_root();

/// Who compares updates with the root client's: "aggregator 'root_trust'", or the method of strategy.file.
std::string who_needs_root(const RunConfig& run);

/// Throws ConfigError if an aggregator lacks its root examples, if the root client cannot train, or if clients would also train on root
/// examples. `strategy`: the catalog's entry for run.strategy.
void check_root(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source);

}  // namespace fedhive::sim
