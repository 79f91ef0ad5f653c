// A sweep's present state, read from its folder: sweep.json, and the folders of running runs. Shown by `fedhive sweep` itself
// and by `fedhive watch` from another terminal. Only reads.
#pragma once

#include "sim/screen/run_view.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A run of the sweep. Foreign texts are made printable().
struct SweepEntry {
    std::string id;
    RunState status = RunState::Waiting;  // Killed: together with the sweep
    std::string reason;
    std::int64_t round = 0;  // rounds done
    std::int64_t rounds = 0;
    std::int64_t workers = 0;
    std::int64_t attempts = 0;                // processes started
    std::optional<double> quality;            // so far or at the end, of the metric …
    const clients::Metric* metric = nullptr;  // … here; null: unknown
    std::optional<double> rounds_per_s;
    std::optional<double> eta_s;
    double estimate_s = 0.0;  // core seconds; 1 if no run of the sweep has an estimate
    double ended_s = 0.0;     // since 1970; or when the run was last heard of; 0: unknown

    bool at_work() const { return status == RunState::Running || status == RunState::Killed; }
    bool ended() const { return status == RunState::Finished || status == RunState::Stopped || status == RunState::Failed; }
    /// Interrupted, paused or killed after it had started: its folder has its work.
    bool on_its_way() const { return !at_work() && !ended() && attempts > 0; }
    /// In the unit of the estimates; an ended run has no work left.
    double work_done() const;
    double work_left() const;
};

class SweepView {
public:
    explicit SweepView(std::filesystem::path folder);

    /// Never throws for torn, missing or half-written files. Reads a run's folder while that run is running, and once after it
    /// has ended.
    void refresh();

    const std::filesystem::path& folder() const { return folder_; }
    RunState state() const { return state_; }
    const std::string& exit_status() const { return exit_status_; }
    /// sweep.json is invalid or contradicts itself: do not trust what it says about the sweep's end.
    bool damaged() const { return damaged_; }
    const std::string& name() const { return name_; }
    const std::vector<SweepEntry>& runs() const { return runs_; }  // in the sweep's order
    std::size_t count(RunState status) const;

    /// Fraction of the work, weighted by the runs' estimates; rounds that a stopped or failed run leaves out are no work.
    double fraction() const;
    double elapsed_s() const { return wall_s_ + since_s_; }  // resumes included
    /// At the pace so far; empty before some work is done, or if no process is running.
    std::optional<double> eta_s() const;

    /// Sums over all runs. Planned: before any run was stopped or failed.
    std::int64_t rounds_done() const;
    std::int64_t rounds_planned() const;

    /// The run with the best value of its task's main metric, so far or at the end; nullptr: none was evaluated.
    const SweepEntry* best() const;

private:
    void call_damaged(const std::string& problem);
    void read_plan();
    void look_at(SweepEntry& entry);

    std::filesystem::path folder_;
    WatchedFile plan_;
    RunState state_ = RunState::Absent;
    std::string exit_status_;
    bool damaged_ = false;
    std::string name_;
    double wall_s_ = 0.0;   // by sweep.json …
    double since_s_ = 0.0;  // … and since it was written
    std::vector<SweepEntry> runs_;
    std::map<std::string, std::unique_ptr<RunView>> views_;  // of running runs
};

/// The sweep as at most `height` lines of at most `width` columns: progress, running runs, latest ends.
std::vector<std::string> sweep_lines(const SweepView& sweep, std::size_t width, std::size_t height, bool colour);

/// "finished  accuracy 0.9712", "failed    worker 2 was killed". For runs that are not waiting.
std::string outcome(const SweepEntry& run);

}  // namespace fedhive::sim
