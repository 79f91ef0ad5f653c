// Settings against a baseline, in pairs: two runs that share their seeds share what these decide (partition, first model, cohorts), so that
// their difference varies less than either of them.
#pragma once

#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fedhive::sim {

/// A part of summary.md: for each setting that differs from the sweep's first one in one key (of all, where keys vary together and none
/// does), mean difference and 95 % interval over the pairs. Empty where no setting has two pairs. `results` in the order of sweep["runs"].
std::string paired_differences(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);

}  // namespace fedhive::sim
