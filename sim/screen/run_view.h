// What a run's folder says at this moment. Made to be asked again and again, of many runs: a refresh reads what was added to rounds.csv, and
// other files only where they changed. It only reads; a run that is watched takes no notice.
#pragma once

#include "sim/record/main_metric.h"
#include "sim/screen/round_lines.h"
#include "sim/screen/watched_file.h"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Absent: nothing is there yet. Killed: the last word is that it runs, but nobody does it any more.
enum class RunState { Absent, Running, Paused, Finished, Interrupted, Failed, Killed };

/// Of an exit_status in manifest.json or sweep.json where nobody holds the lock; empty: there is no such file. Whoever holds it is at work,
/// whatever the process before has written.
RunState state_without_process(const std::string& exit_status);

class RunView {
public:
    using Row = RoundRow;

    /// `other`: a column of rounds.csv whose values are wanted besides; empty: none.
    explicit RunView(std::filesystem::path folder, std::string other = "");

    /// Never throws for torn, missing, half-written files. Cost of a run at work without a new round: a few system calls.
    void refresh();

    const std::filesystem::path& folder() const { return folder_; }
    RunState state() const { return state_; }
    const std::string& exit_status() const { return exit_status_; }  // empty: there is no manifest yet
    bool diverged() const { return diverged_; }                      // a resume would come to the same end
    const std::string& name() const { return name_; }
    std::int64_t workers() const { return workers_; }
    pid_t pid() const { return lock_.pid; }  // who holds the lock; 0: nobody

    std::int64_t round() const { return rows_.empty() ? 0 : rows_.back().round; }  // done …
    std::int64_t rounds() const { return rounds_; }                                // … and planned; 0: not known
    const std::vector<Row>& rows() const { return rows_; }

    /// What a finished run lacks: rows of rounds that its manifest tells of; empty where it lacks none, or has not finished.
    std::string damage() const;
    std::uint64_t torn_lines() const { return torn_lines_ + (table_.unfinished_bytes() > 0 ? 1 : 0); }

    /// Of the last round that was evaluated, by metric().
    std::optional<double> quality() const { return quality_; }
    /// By which runs of this one's task are compared; null: not known yet.
    const clients::Metric* metric() const { return metric_; }

    /// Seconds of the rounds done and, of a run at work, of the round at work; a resumed run's break does not count.
    double elapsed_s() const { return done_s_ + at_work_s_; }

    /// Over the last rounds; nothing before the first one, or where nobody is at work.
    std::optional<double> rounds_per_s() const;
    std::optional<double> eta_s() const;

    RunProgress progress() const;

    /// When the manifest was written last, seconds since 1970; 0: there is none.
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
    std::int64_t told_rounds_ = 0;  // done, as the manifest has it
    LockHolder lock_;
    std::vector<std::string> columns_;  // of rounds.csv; empty: it has no head yet
    std::vector<Row> rows_;
    std::uint64_t torn_lines_ = 0;
    const clients::Metric* metric_ = nullptr;
    std::optional<double> quality_;
    double done_s_ = 0.0;
    double at_work_s_ = 0.0;
};

}  // namespace fedhive::sim
