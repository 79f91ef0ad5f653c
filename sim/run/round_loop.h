// THE SERVER'S SCREEN: one turn per round, the same for every strategy and every mode.
#pragma once

#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/run/checkpointer.h"
#include "sim/run/reporter.h"

namespace fedhive::sim {

/// Runs one round, from the sample to the next model; does not evaluate, report or count it. Throws RunAborted, Interrupted,
/// Fault.
Arrivals run_round(Experiment& run, Fleet& fleet, RoundRecord& round);

/// Runs rounds until config.rounds, a stop condition, or the end of round `until`. Returns whether no round is left. Throws
/// RunAborted, Interrupted, Fault.
bool run_rounds(Experiment& run, Fleet& fleet, Reporter& reporter, Checkpointer& checkpoints, std::int64_t until);

}  // namespace fedhive::sim
