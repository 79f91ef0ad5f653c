// THE SERVER'S SCREEN: one turn per round, the same for every strategy and every mode.
#pragma once

#include "sim/checkpointer.h"
#include "sim/experiment.h"
#include "sim/fleet.h"
#include "sim/reporter.h"

namespace fedhive::sim {

/// Runs rounds until config.rounds or a stop condition. Throws RunAborted, Interrupted, Fault.
void run_rounds(Experiment& run, Fleet& fleet, Reporter& reporter, Checkpointer& checkpoints);

}  // namespace fedhive::sim
