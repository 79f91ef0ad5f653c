// The arrivals of an earlier run, gone through before the first round: whether they are those of this experiment.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

struct Experiment;

/// Plays the rounds that are left without training: who is sent, and whether those whom config.arrivals names next are on their way. Throws
/// ConfigError naming the file and the round: it ends before the run does, names a client that is not on its way, more or fewer of them than
/// the mode waits for. Nothing without config.arrivals. Cost: the sampling of the rounds.
void check_recorded_arrivals(const Experiment& run, const LoadedConfig& loaded);

}  // namespace fedhive::sim
