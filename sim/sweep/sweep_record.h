// sweep.json: a sweep's plan and progress. The scheduler rewrites it at every change; `fedhive watch` reads it.
#pragma once

#include "sim/config/sweep_config.h"
#include "sim/record/run_state.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Version of sweep.json's schema.
inline constexpr int kSweepSchema = 1;
inline constexpr const char* kSweepFile = "sweep.json";

/// A run's expected needs, before a similar run has been measured.
struct RunEstimate {
    std::uint64_t host_bytes = 0;  // with one worker, or with the config's number
    double core_seconds = 0.0;
};

struct RunRecord {
    std::string id;
    RunState status = RunState::Waiting;
    std::string reason{};  // why it failed or was stopped, or, if it had finished before, would have been
    std::uint64_t seed = 0;
    std::vector<Setting> settings;
    std::string case_name{};  // empty: none
    std::string weighting{};  // strategy.weighting; empty: written by an earlier fedhive
    std::string config_hash;
    std::int64_t rounds = 0;
    std::optional<std::int64_t> workers{};  // empty: not started yet
    std::string host{};                     // of its last process, with several hosts: "rank 1 (host b)"
    std::int64_t attempts = 0;              // processes started
    double wall_s = 0.0;                    // of its processes
    double cpu_s = 0.0;                     // user and system
    std::optional<std::uint64_t> peak_bytes{};
    double estimate_s = 0.0;
};

struct SweepRecord {
    std::string name;
    std::filesystem::path file;
    std::vector<std::string> overrides;  // --set
    std::string fedhive;
    std::string commit;
    std::string started;
    std::string finished{};  // empty: still going on
    std::string exit_status = word_of(RunState::Running);
    std::vector<std::string> keys;
    MetricTargets targets{};
    EarlyStoppingConfig early_stopping;
    std::int64_t decided = 0;  // the last rung with a comparison
    std::int64_t jobs = 0;
    std::int64_t cores = 1;            // of all hosts
    std::vector<std::string> hosts{};  // if there are several
    double wall_s = 0.0;               // resumes included
    std::vector<RunRecord> runs{};
    std::vector<std::string> gone{};

    std::size_t count(RunState status) const;
};

/// SHA-256 of the resolved config without `workers`: everything that a run's result depends on.
std::string config_hash(RunConfig config);

/// The record of a new sweep, with all runs waiting.
SweepRecord plan_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates);

nlohmann::ordered_json to_json(const SweepRecord& sweep);

/// Throws ConfigError naming the folder if it has no sweep, a file of another schema or a damaged one, or a run whose id leads
/// out of it.
SweepRecord read_sweep(const std::filesystem::path& folder);

void write_sweep(const std::filesystem::path& folder, const SweepRecord& sweep);

/// Keeps the ids of a sweep that began with other names of runs or cases: a run with the same settings and seed gets the id in
/// the record, runs with the same config first.
void keep_ids(const SweepRecord& before, SweepConfig& now);

/// Runs of a sweep file, by id, that differ from those of the recorded sweep.
struct SweepChanges {
    std::vector<std::string> added, gone, changed;

    bool none() const { return added.empty() && gone.empty() && changed.empty(); }
    /// "2 runs are new (lr-1+clients-4; …), 1 is gone (…)", ten names at most of each
    std::string describe() const;
};
SweepChanges find_changes(const SweepRecord& before, const SweepConfig& now);

}  // namespace fedhive::sim
