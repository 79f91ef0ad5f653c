// What several ranks must have in common before the first round, and what rank 0 sends the others when a run is resumed: only
// rank 0 needs access to the run's folder.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/run/resume.h"

#include <string>

namespace fedhive::sim {

/// Collective. Throws the same ConfigError on all ranks if one differs from rank 0, naming rank and difference: version, a key
/// of the config (workers and the location of the data may differ), data, partition, first model, LibTorch, CPU capability,
/// engine.
void compare_ranks(const Experiment& run);

/// One line, "ranks       4 by MPI: host a (2), host b (2) · …"; empty for a single rank.
std::string describe_ranks(const Experiment& run);

/// Rank 0's resumption, on all ranks; the others pass none.
Resumption share_resumption(Ranks& ranks, std::optional<Resumption> found);

}  // namespace fedhive::sim
