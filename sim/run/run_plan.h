// The plan of a run, as printed before round 1.
#pragma once

#include "sim/plan/experiment.h"

#include <string>

namespace fedhive::sim {

/// A few lines: strategy, device, model, data, partition, memory, folder, and warnings of probable mistakes.
std::string describe_plan(const Experiment& run, const std::string& folder);

}  // namespace fedhive::sim
