// The files of a run (results/README.md describes them): CSV rows are written as one line each, other files beside their place and renamed.
#pragma once

#include "sim/experiment.h"
#include "sim/round_record.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace fedhive::sim {

/// Version of the files' schema, in the manifest: columns are only ever added at the end.
inline constexpr int kResultSchema = 1;

/// Creates results/runs/<name>-<date>-<time>, or that with -2, -3, … where another run has it.
std::filesystem::path make_default_run_folder(const std::string& name);

class RunFolder {
public:
    /// Creates the folder with its config.yaml and empty tables. Throws ConfigError when it cannot be written, or is not empty and `overwrite`
    /// is false; overwriting removes the files of the run before and nothing else (and nothing at all where there is no manifest
    /// of a run).
    RunFolder(const std::filesystem::path& folder, const RunConfig& config, bool overwrite);

    const std::filesystem::path& path() const { return folder_; }
    std::filesystem::path logs() const { return folder_ / "logs"; }

    /// One row of rounds.csv and the rows of clients.csv. `model_bytes` is what one client pulls down, and sends up.
    void add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server, std::uint64_t model_bytes);

    /// One line of events.jsonl; the time is added.
    void add_event(const std::string& event, const nlohmann::json& details);
    void write_manifest(const nlohmann::ordered_json& manifest) const;

private:
    std::filesystem::path folder_;
    std::ofstream rounds_;
    std::ofstream clients_;
    std::ofstream events_;
};

/// 2026-11-21T04:05:06Z
std::string utc_time();

}  // namespace fedhive::sim
