// sweep.json: what a sweep is going to run and how far it is. The scheduler writes it whole at every change; whoever watches reads it.
#pragma once

#include "sim/config/sweep_config.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// Version of sweep.json's schema.
inline constexpr int kSweepSchema = 1;
inline constexpr const char* kSweepFile = "sweep.json";

/// What a run is expected to need, before anything like it has been measured.
struct RunEstimate {
    std::uint64_t host_bytes = 0;  // with one worker, or with those that its config asks for
    double core_seconds = 0.0;
};

enum class RunStatus {
    Waiting,
    Running,
    Paused,    // at a rung
    Finished,  // all its rounds, or stop.test_accuracy reached
    Stopped,   // by early stopping
    Failed
};
std::string_view to_string(RunStatus status);

struct RunRecord {
    std::string id;
    RunStatus status = RunStatus::Waiting;
    std::string reason{};  // why it failed or was stopped, or would have been, had it not finished before
    std::uint64_t seed = 0;
    std::vector<Setting> settings;
    std::string case_name{};  // empty: it has none
    std::string weighting{};  // strategy.weighting; empty: an earlier fedhive did not write it
    std::string config_hash;
    std::int64_t rounds = 0;
    std::optional<std::int64_t> workers{};  // empty: not started yet
    std::string host{};                     // of its last process, where there are several: "rank 1 (host b)"
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
    std::string finished{};  // empty: going on
    std::string exit_status = "running";
    std::vector<std::string> keys;
    MetricTargets targets{};
    EarlyStoppingConfig early_stopping;
    std::int64_t decided = 0;  // the last rung at which runs were compared
    std::int64_t jobs = 0;
    std::int64_t cores = 1;            // of all hosts
    std::vector<std::string> hosts{};  // where there are several
    double wall_s = 0.0;               // over resumes
    std::vector<RunRecord> runs{};
    std::vector<std::string> gone{};

    std::size_t count(RunStatus status) const;
};

/// SHA-256 of the resolved config without `workers`: what decides about a run's result.
std::string config_hash(RunConfig config);

/// All runs waiting.
SweepRecord plan_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates);

nlohmann::ordered_json to_json(const SweepRecord& sweep);

/// Throws ConfigError naming the folder: no sweep in it, a file of another schema or a damaged one, a run whose id leads out of it.
SweepRecord read_sweep(const std::filesystem::path& folder);

void write_sweep(const std::filesystem::path& folder, const SweepRecord& sweep);

/// A sweep that began when runs or cases were named otherwise goes on with the names it has: a run of the same settings and seed takes the id
/// that stands in the record, that of the same config before all others.
void keep_ids(const SweepRecord& before, SweepConfig& now);

/// Runs of a sweep file by name that differ from those a sweep began with.
struct SweepChanges {
    std::vector<std::string> added, gone, changed;

    bool none() const { return added.empty() && gone.empty() && changed.empty(); }
    /// "2 runs are new (lr-1+clients-4; …), 1 is gone (…)", ten names at most of each
    std::string describe() const;
};
SweepChanges find_changes(const SweepRecord& before, const SweepConfig& now);

}  // namespace fedhive::sim
