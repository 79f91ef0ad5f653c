// Check of an earlier run's arrivals before the first round: do they belong to this experiment?
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

struct Experiment;

/// Simulates the remaining rounds without training: samples the clients and checks that config.arrivals names clients in
/// flight. Throws ConfigError naming the file and the round if the file ends before the run, names a client that is not in
/// flight, or has more or fewer arrivals than the mode waits for. Does nothing without config.arrivals. With a
/// sampler that learns, only the number of rounds is checked. Cost: the sampling of the rounds.
void check_recorded_arrivals(const Experiment& run, const LoadedConfig& loaded);

}  // namespace fedhive::sim
