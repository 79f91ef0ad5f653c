// A sweep file: a base config and its variations, expanded into one checked config per run. Finds every mistake in any run
// before anything starts. docs/sweeps.md describes the file.
#pragma once

#include "sim/config/loaded_config.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A varied key and its value in the resolved config; empty if the key does not apply to the run or is left out.
struct Setting {
    std::string key;
    std::string value;
};

struct EarlyStoppingConfig {
    StoppingRule rule = StoppingRule::None;
    std::int64_t first_round = 1;  // the first rung is after this round, which must be before each run's last
    std::int64_t factor = 3;       // halving: 1 of `factor` runs goes on; at least 2
};

struct SweepRun {
    /// Unique in the sweep, and a folder name that needs no quotes: "lr-0.1+clients-10+seed-2", at most 100 of A-Z a-z 0-9 . _
    /// + -. Derived from the run's own settings and seed, not from what else the sweep tries. A case's name replaces the keys
    /// that cases set: "wrong_way+seed-2". It changes with *which* keys vary (a new axis; a second key with the same last part,
    /// so that both are written longer; one seed or several), and in the rare case that two runs would share it.
    std::string id;
    std::vector<Setting> settings;  // one for each of SweepConfig::keys, in that order
    RunConfig config;               // resolved; config.seed is the run's seed
    std::shared_ptr<const ConfigSource> source;
    bool workers_given = false;        // the sweep file or --set, and not only the base, gives a number of workers
    std::string case_name{};           // name of its case in the file; empty: none
    std::vector<std::string> notes{};  // LoadedConfig::notes
};

struct SweepConfig {
    std::string name;                    // default: the file's name without .yaml
    std::filesystem::path file;          // absolute
    std::vector<std::string> overrides;  // as given
    std::vector<std::string> keys;       // varied keys, in file order; a section as its keys; without `seed`
    MetricTargets targets;               // at most one
    EarlyStoppingConfig early_stopping;
    std::vector<SweepRun> runs;  // the first axis of the file varies slowest, seeds fastest
};

/// Reads a sweep file and its base strictly. `overrides` change the base as in load_config, after the file's `set`; they may
/// not name a varied key. The same file gives the same runs on any machine. Throws ConfigError, as load_config for any run, and
/// for: unknown key, nothing that varies, a key varied twice, an empty list, lists of `zip` that differ in length, an unusable
/// draw, more than max_runs runs, two equal runs, early stopping of runs that it cannot pause and resume or that are not
/// evaluated before the first comparison.
SweepConfig load_sweep(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

/// Why a foreign text cannot be a run's id, which becomes part of paths; empty if it can. Ids of earlier versions may contain =
/// and , .
std::string run_id_problem(const std::string& id);

}  // namespace fedhive::sim
