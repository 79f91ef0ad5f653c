// The folder of a sweep: where its files are, who may write it, and what its runs have left in theirs.
#pragma once

#include "sim/record/run_lock.h"
#include "sim/sweep/early_stopping.h"
#include "sim/sweep/sweep_record.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Of one run, by its id.
std::filesystem::path config_path(const std::filesystem::path& sweep, const std::string& id);
std::filesystem::path run_path(const std::filesystem::path& sweep, const std::string& id);
std::filesystem::path log_path(const std::filesystem::path& sweep, const std::string& id);

/// Creates the folder where it is missing, and locks it. Throws ConfigError when it cannot be written or is not empty. What a process left
/// that was killed before it had written sweep.json counts as empty.
RunLock claim_new_sweep(const std::filesystem::path& folder);

/// Locks the folder of a sweep that is to go on. Throws ConfigError: no sweep there, or one that is going on.
RunLock claim_sweep(const std::filesystem::path& folder);

/// configs/, runs/, logs/, the config of each run and, for reading, the sweep file.
void write_inputs(const std::filesystem::path& folder, const SweepConfig& sweep);

/// What a sweep of `now` goes on from, after `before`, from which it has those `changes`: finished and stopped runs stay so where their
/// folders say it too, all others wait. Where something has changed, early stopping begins anew: whom it had stopped is compared once more.
SweepRecord take_up(const std::filesystem::path& folder, const SweepRecord& before, SweepRecord now,
                    const SweepChanges& changes);

/// A run's folder, as it was left.
struct RunRemains {
    bool begun = false;         // there is a config.yaml: it can be resumed, or has to be replaced
    std::string config_hash{};  // of that; empty where it cannot be read
    std::string exit_status{};  // of the manifest; empty where there is none

    bool finished() const { return exit_status == "finished"; }
    /// The round of "paused after round 9", else 0.
    std::int64_t paused_after() const;
};
RunRemains remains_of(const std::filesystem::path& run);

/// From rounds.csv: its task's main metric, null where there is no such file; that metric's values of the rounds up to `round`; how many
/// rounds are in it.
const clients::Metric* read_metric(const std::filesystem::path& run);
Qualities read_qualities(const std::filesystem::path& run, std::int64_t round);
std::int64_t count_rounds(const std::filesystem::path& run);

/// Arguments of the process that runs it: new, from its checkpoint, or in place of a run of another config.
struct RunOrder {
    std::filesystem::path sweep;
    std::string id;
    std::string config_hash;
    std::optional<std::int64_t> workers;  // empty: as in its config
    std::optional<std::int64_t> until;    // round to pause after; empty: to the end
};
std::vector<std::string> run_arguments(const RunOrder& order);

/// The last line of a log that is not empty, of what was written from byte `begin` on; 200 characters at most.
std::string last_line(const std::filesystem::path& log, std::uint64_t begin);

}  // namespace fedhive::sim
