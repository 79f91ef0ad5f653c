// Results of a sweep, final or so far: summary.csv with a row per run; summary.md with a row per setting, mean and interval
// over its seeds.
#pragma once

#include "sim/sweep/run_result.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

/// `results` in the order of sweep["runs"]. Columns that do not depend on time come first, so that two sweeps can be compared.
std::string summary_csv(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results);
/// `folder`: the sweep's, for the advice on resuming it.
std::string summary_markdown(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results,
                             const std::string& folder);

/// Writes both files repeatedly while a sweep goes on; reads ended runs only once.
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
