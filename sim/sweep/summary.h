// What a sweep came to, or has come to so far: summary.csv with a row for each run, summary.md with a row for each setting, mean and interval
// over its seeds.
#pragma once

#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

/// `results` in the order of sweep["runs"]. What does not depend on time comes first, so that two sweeps can be compared.
std::string summary_csv(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);
/// `folder`: of the sweep, for those who resume it.
std::string summary_markdown(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results,
                             const std::string& folder);

/// Writes both files, again and again while a sweep goes on; runs that have ended are read once.
class Summary {
public:
    explicit Summary(std::filesystem::path sweep_folder) : folder_(std::move(sweep_folder)) {}

    /// `sweep`: the content of sweep.json. Throws Fault when a file cannot be written.
    void write(const nlohmann::ordered_json& sweep);

private:
    std::filesystem::path folder_;
    std::map<std::string, RunResult> ended_;  // by id and attempts
};

}  // namespace fedhive::sim
