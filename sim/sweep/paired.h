// Paired comparison of settings with a baseline: two runs with the same seeds share partition, first model and cohorts, so that
// their difference varies less than either of them.
#pragma once

#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fedhive::sim {

/// A part of summary.md: mean difference and 95 % interval over the pairs, for each setting that differs from the sweep's first
/// one in one key (for all settings if keys vary together and none does). Empty if no setting has two pairs. `results` in the
/// order of sweep["runs"].
std::string paired_differences(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);

}  // namespace fedhive::sim
