// What several ranks must have in common before the first round, and what rank 0 hands the others of a run that is taken up: its folder lies where
// rank 0 is, and need not be seen from elsewhere.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/run/resume.h"

#include <string>

namespace fedhive::sim {

/// Throws ConfigError, the same one on all ranks, naming each that differs from rank 0 and in what: version, a key of the config (workers and
/// where the data lie may differ), data, partition, model to begin with, LibTorch, CPU capability, engine.
void compare_ranks(const Experiment& run);

/// "ranks       4 by MPI: host a (2), host b (2) · …", one line; empty where there is one.
std::string describe_ranks(const Experiment& run);

/// Rank 0's, on all ranks. Every rank but 0 gives none.
Resumption share_resumption(Ranks& ranks, std::optional<Resumption> found);

}  // namespace fedhive::sim
