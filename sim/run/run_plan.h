// What a run is about to do, as it says it before round 1.
#pragma once

#include "sim/plan/experiment.h"

#include <string>

namespace fedhive::sim {

/// A few lines: strategy, device, model, data, how they are dealt, memory, folder, and what looks like a mistake.
std::string describe_plan(const Experiment& run, const std::string& folder);

}  // namespace fedhive::sim
