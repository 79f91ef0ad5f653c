// A run's present state, read from its folder. Cheap to refresh often, for many runs: reads only what was added to rounds.csv,
// and other files only if they have changed. Only reads; the watched run is not affected.
#pragma once

#include "sim/record/main_metric.h"
#include "sim/record/run_state.h"
#include "sim/screen/round_lines.h"
#include "sim/screen/watched_file.h"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// The state for an exit_status in manifest.json or sweep.json (empty: no such file) if no process holds the lock. A process
/// that holds the lock is running, whatever the previous one has written.
RunState state_without_process(const std::string& exit_status);

class RunView {
public:
    using Row = RoundRow;
    using SetCell = bool (*)(RoundRow& row, std::string_view cell);  // false: the cell is no such value

    /// `other`: a further column of rounds.csv to read; empty: none.
    explicit RunView(std::filesystem::path folder, std::string other = "");

    /// Never throws for torn, missing or half-written files. Cost for a running run without a new round: a few system calls.
    void refresh();

    const std::filesystem::path& folder() const { return folder_; }
    RunState state() const { return state_; }
    const std::string& exit_status() const { return exit_status_; }  // empty: no manifest yet
    bool diverged() const { return diverged_; }                      // a resume would diverge again
    const std::string& name() const { return name_; }
    std::int64_t workers() const { return workers_; }
    pid_t pid() const { return lock_.pid; }  // holds the lock; 0: none

    std::int64_t round() const { return rows_.empty() ? 0 : rows_.back().round; }  // rounds done …
    std::int64_t rounds() const { return rounds_; }                                // … and planned; 0: unknown
    const std::vector<Row>& rows() const { return rows_; }

    /// What a finished run lacks: rows of rounds that its manifest counts. Empty if complete or not finished.
    std::string damage() const;
    std::uint64_t torn_lines() const { return torn_lines_ + (table_.unfinished_bytes() > 0 ? 1 : 0); }

    /// The metric() of the last evaluated round.
    std::optional<double> quality() const { return quality_; }
    /// The main metric of the run's task; null: not known yet.
    const clients::Metric* metric() const { return metric_; }

    /// Seconds of the finished rounds and, if the run is running, of the current round; breaks before a resume do not count.
    double elapsed_s() const { return done_s_ + at_work_s_; }

    /// Over the last rounds; empty before the first one, or if no process is running.
    std::optional<double> rounds_per_s() const;
    std::optional<double> eta_s() const;

    RunProgress progress() const;

    /// When the manifest was last written, seconds since 1970; 0: no manifest.
    double written_s() const { return manifest_.written_s(); }

private:
    void read_manifest();
    void read_config();
    void read_rows();
    void read_head(const std::string& line);
    void add_row(const std::string& line);

    std::filesystem::path folder_;
    std::string other_;
    WatchedFile manifest_;
    WatchedFile config_;
    GrowingTable table_;
    RunState state_ = RunState::Absent;
    std::string exit_status_;
    bool diverged_ = false;
    std::string name_;
    std::int64_t workers_ = 0;
    std::int64_t rounds_ = 0;
    std::int64_t told_rounds_ = 0;  // rounds done, by the manifest
    LockHolder lock_;
    std::vector<std::vector<SetCell>> columns_;  // of rounds.csv: who takes a cell; empty: no head yet
    std::vector<Row> rows_;
    std::uint64_t torn_lines_ = 0;
    const clients::Metric* metric_ = nullptr;
    std::optional<double> quality_;
    double done_s_ = 0.0;
    double at_work_s_ = 0.0;
};

}  // namespace fedhive::sim
