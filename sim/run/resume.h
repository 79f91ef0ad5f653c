// Taking up a run where it stopped: from which checkpoint, whether with the config that is asked for, whether this machine gives the same
// bits. Nothing in the folder is changed before all of that is known.
#pragma once

#include "sim/config/config.h"
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
    std::vector<std::string> overrides;  // on top of it
};

struct Resumption {
    std::filesystem::path folder;
    LoadedConfig loaded;
    bool config_changed = false;          // against config.yaml
    std::optional<CheckpointFile> from;   // empty: from the beginning
    bool over = false;                    // no round is left: only the end is to be written down
    std::string finished;                 // why there is nothing to do at all; empty where there is
    std::optional<WorkerChoice> workers;  // of the run so far, where auto was chosen on this machine
    std::string data_fingerprint;         // of the run so far, as in the manifest; empty: not known
    ResumePoint point;
    Past past;
};

/// Finds the newest checkpoint that is whole, and compares configs. Throws ConfigError: a key that may not change (all of them are named),
/// fewer rounds than are done, files of another version, tables that are not those of the checkpoint.
Resumption find_resumption(const ResumeOptions& options);

/// The same for looking back: the run as it was when `round` rounds were done, from a checkpoint at or before that, in one process. Its
/// config is that of config.yaml, which must not have been changed since.
Resumption find_start(const std::filesystem::path& folder, std::int64_t round);

/// The newest checkpoint that is whole and of at most `round` rounds; why others are not goes to `damaged`.
std::optional<CheckpointFile> newest_checkpoint(const std::filesystem::path& folder, std::int64_t round,
                                                std::vector<std::string>& damaged);

/// Puts the checkpoint's model, moments and counts into `run`, or the model that round 1 starts from. Throws ConfigError where model or data
/// are not the run's, or where this process would compute other bits, unless that is allowed; it then is noted in `resumption.past`.
void take_up(Experiment& run, Resumption& resumption, bool allow_other_bits);

}  // namespace fedhive::sim
