// A sweep file: a base config and what varies in it, expanded into one checked config for each run. Everything a user can have got wrong
// in any run is found here, before anything starts. docs/sweeps.md describes the file.
#pragma once

#include "sim/config/config.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A varied key and its value as in the resolved config; empty where the key does not apply to the run or is left out of it.
struct Setting {
    std::string key;
    std::string value;
};

struct EarlyStoppingConfig {
    std::string rule = "none";     // halving | median | none
    std::int64_t first_round = 1;  // after which runs are compared for the first time; before each run's last
    std::int64_t factor = 3;       // halving: one of so many goes on; at least 2
};

struct SweepRun {
    /// Names a folder that no shell wants quoted, unique in the sweep: "lr-0.1+clients-10+seed-2", at most 100 of A-Z a-z 0-9 . _ + -. Made of
    /// the run's own settings and seed; what else the sweep tries does not matter. The name of a case stands for the keys that cases give:
    /// "wrong_way+seed-2". It changes with *which* keys vary (a new axis; a second key that ends alike,
    /// so that both are written longer; one seed or several), and in the rare case that two runs would share it.
    std::string id;
    std::vector<Setting> settings;  // one for each of SweepConfig::keys, in that order
    RunConfig config;               // resolved; config.seed is the run's seed
    std::shared_ptr<const ConfigSource> source;
    bool workers_given = false;  // a number of workers stands in the sweep file or in --set, not only in the base
    std::string case_name{};     // what the file calls its case; empty: nothing
};

struct SweepConfig {
    std::string name;                    // default: the file's name without .yaml
    std::filesystem::path file;          // absolute
    std::vector<std::string> overrides;  // as given
    std::vector<std::string> keys;       // varied keys, in file order, sections as their keys; not `seed`
    MetricTargets targets;               // at most one
    EarlyStoppingConfig early_stopping;
    std::vector<SweepRun> runs;  // the first axis of the file varies slowest, seeds fastest
};

/// Reads a sweep file and its base strictly. `overrides` change the base as in load_config, after the file's `set`; they may not name a
/// varied key. The same file gives the same runs on any machine. Throws ConfigError, as load_config for any run, and: unknown key, nothing
/// that varies, a key varied twice, an empty list, lists of `zip` that differ in length, an unusable draw, more than max_runs runs, two equal
/// runs, early stopping of runs that it cannot pause and resume or that have no accuracy to compare.
SweepConfig load_sweep(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

/// Why a text from elsewhere cannot be a run's id, which is joined to paths; empty where it can. Ids of earlier versions have = and , in them.
std::string run_id_problem(const std::string& id);

}  // namespace fedhive::sim
