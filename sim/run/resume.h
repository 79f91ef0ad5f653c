// Resuming a run: which checkpoint, whether the requested config is allowed, whether this machine gives the same bits. Changes
// nothing in the folder before all of that is settled.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/plan/experiment.h"
#include "sim/run/reporter.h"
#include "sim/state/checkpoint.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct ResumeOptions {
    std::filesystem::path folder;
    std::filesystem::path config;        // empty: the folder's own
    std::vector<std::string> overrides;  // applied to it
};

struct Resumption {
    std::filesystem::path folder;
    LoadedConfig loaded;
    bool config_changed = false;          // compared with config.yaml
    std::optional<CheckpointFile> from;   // empty: from the beginning
    bool over = false;                    // no round is left: only the run's end is to be written
    std::string finished;                 // why there is nothing to do at all; else empty
    std::optional<WorkerChoice> workers;  // the run's earlier choice, if auto chose it on this machine
    std::string data_fingerprint;         // the run's, as in the manifest; empty: unknown
    ResumePoint point;
    Past past;
};

/// Finds the newest intact checkpoint and compares the configs. Throws ConfigError: keys that may not change (names all of
/// them), fewer rounds than are done, files of another version, tables that do not match the checkpoint.
Resumption find_resumption(const ResumeOptions& options);

/// For a replay: the run's state after at most `round` rounds, from the newest checkpoint up to there, in one process. Uses
/// config.yaml, which must not have changed since.
Resumption find_start(const std::filesystem::path& folder, std::int64_t round);

/// The newest intact checkpoint of at most `round` rounds; the reasons against others are appended to `damaged`.
std::optional<CheckpointFile> newest_checkpoint(const std::filesystem::path& folder, std::int64_t round,
                                                std::vector<std::string>& damaged);

/// Restores the checkpoint's model, moments and counts into `run`, or sets the first model of round 1. Throws ConfigError if
/// model or data are not the run's, or if this process would compute other bits; if that is allowed, notes it in
/// `resumption.past`.
void take_up(Experiment& run, Resumption& resumption, bool allow_other_bits);

}  // namespace fedhive::sim
