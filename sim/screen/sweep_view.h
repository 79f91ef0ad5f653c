// What a sweep's folder says at this moment: sweep.json, and of runs at work their own folders. What `fedhive sweep` shows while it runs, and
// `fedhive watch` from another terminal. It only reads.
#pragma once

#include "sim/screen/run_view.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// A run of the sweep. What others have written is made printable().
struct SweepEntry {
    std::string id;
    std::string status;  // waiting | running | paused | finished | stopped | failed; killed: at work when the sweep was
    std::string reason;
    std::int64_t round = 0;  // done
    std::int64_t rounds = 0;
    std::int64_t workers = 0;
    std::int64_t attempts = 0;                // processes started
    std::optional<double> quality;            // so far or in the end, by …
    const clients::Metric* metric = nullptr;  // … which; null: not known
    std::optional<double> rounds_per_s;
    std::optional<double> eta_s;
    double estimate_s = 0.0;  // core seconds; 1 where no run of the sweep has an estimate
    double ended_s = 0.0;     // since 1970, or when it was last heard of; 0: not known

    bool at_work() const { return status == "running" || status == "killed"; }
    bool ended() const { return status == "finished" || status == "stopped" || status == "failed"; }
    /// Interrupted, paused or killed on its way: what it has done is in its folder.
    bool on_its_way() const { return !at_work() && !ended() && attempts > 0; }
    /// In units of the estimates; of a run that has ended, nothing is left.
    double work_done() const;
    double work_left() const;
};

class SweepView {
public:
    explicit SweepView(std::filesystem::path folder);

    /// Never throws for torn, missing, half-written files. Reads a run's folder while that run is at work, and once when it has ended.
    void refresh();

    const std::filesystem::path& folder() const { return folder_; }
    RunState state() const { return state_; }
    const std::string& exit_status() const { return exit_status_; }
    /// sweep.json is none, or contradicts itself: what it says of the sweep's end is not to be believed.
    bool damaged() const { return damaged_; }
    const std::string& name() const { return name_; }
    const std::vector<SweepEntry>& runs() const { return runs_; }  // in the sweep's order
    std::size_t count(std::string_view status) const;

    /// Of the work, weighted by the runs' estimates; what a stopped or failed run leaves undone is no work.
    double fraction() const;
    double elapsed_s() const { return wall_s_ + since_s_; }  // over resumes
    /// At the pace so far; nothing before some work is done, or where nobody is at work.
    std::optional<double> eta_s() const;

    /// Of all runs; planned: before any was stopped or failed.
    std::int64_t rounds_done() const;
    std::int64_t rounds_planned() const;

    /// The run with the best value of its task's main metric, so far or in the end; nullptr: none was evaluated.
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
    double wall_s_ = 0.0;   // as of sweep.json …
    double since_s_ = 0.0;  // … and since
    std::vector<SweepEntry> runs_;
    std::map<std::string, std::unique_ptr<RunView>> views_;  // of runs at work
};

/// The sweep as at most `height` lines of at most `width` columns: how far it is, what is running, what ended last.
std::vector<std::string> sweep_lines(const SweepView& sweep, std::size_t width, std::size_t height, bool colour);

/// "finished  accuracy 0.9712", "failed    worker 2 was killed": of a run that is not waiting.
std::string outcome(const SweepEntry& run);

}  // namespace fedhive::sim
