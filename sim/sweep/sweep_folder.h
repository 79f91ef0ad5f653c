// The folder of a sweep: paths of its files, its lock, and the state of its runs' folders.
#pragma once

#include "sim/record/run_lock.h"
#include "sim/record/run_state.h"
#include "sim/sweep/early_stopping.h"
#include "sim/sweep/sweep_record.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Paths of one run, by its id.
std::filesystem::path config_path(const std::filesystem::path& sweep, const std::string& id);
std::filesystem::path run_path(const std::filesystem::path& sweep, const std::string& id);
std::filesystem::path log_path(const std::filesystem::path& sweep, const std::string& id);

/// Creates the folder if missing, and locks it. Throws ConfigError if it cannot be written or is not empty. The remains of a
/// process killed before it had written sweep.json count as empty.
RunLock claim_new_sweep(const std::filesystem::path& folder);

/// Locks the folder of a sweep to resume. Throws ConfigError if there is no sweep, or if it is still running.
RunLock claim_sweep(const std::filesystem::path& folder);

/// Writes configs/, runs/, logs/, each run's config and, for reading, the sweep file.
void write_inputs(const std::filesystem::path& folder, const SweepConfig& sweep);

/// The record from which a sweep of `now` continues, after `before` with those `changes`: finished and stopped runs stay so if
/// their folders confirm it; all others wait. After a change early stopping begins anew: stopped runs are compared once more.
SweepRecord take_up(const std::filesystem::path& folder, const SweepRecord& before, SweepRecord now,
                    const SweepChanges& changes);

/// The state of a run's folder.
struct RunRemains {
    bool begun = false;         // has a config.yaml: must be resumed or replaced
    std::string config_hash{};  // of that; empty if unreadable
    std::string exit_status{};  // of the manifest; empty if there is none

    bool finished() const { return state_told(exit_status) == RunState::Finished; }
    /// The round of "paused after round 9"; else 0.
    std::int64_t paused_after() const { return round_paused_after(exit_status); }
};
RunRemains remains_of(const std::filesystem::path& run);

/// From rounds.csv: its task's main metric, null without such a file; that metric's values up to `round`; the number of rounds.
const clients::Metric* read_metric(const std::filesystem::path& run);
Qualities read_qualities(const std::filesystem::path& run, std::int64_t round);
std::int64_t count_rounds(const std::filesystem::path& run);

/// One run to start: a new one, one from its checkpoint, or one that replaces a run with another config.
struct RunOrder {
    std::filesystem::path sweep;
    std::string id;
    std::string config_hash;
    std::optional<std::int64_t> workers;  // empty: as in its config
    std::optional<std::int64_t> until;    // round to pause after; empty: to the end
};
std::vector<std::string> run_arguments(const RunOrder& order);

/// The last non-empty line of a log, from byte `begin` on; at most 200 characters.
std::string last_line(const std::filesystem::path& log, std::uint64_t begin);

}  // namespace fedhive::sim
