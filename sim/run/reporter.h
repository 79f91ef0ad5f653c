// All output of a run: terminal and files. One record per round, a manifest at the start and at the end.
#pragma once

#include "sim/fleet/failure_policy.h"
#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"
#include "sim/run/console.h"
#include "sim/run/run_folder.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

/// The run's history before this process; empty for a new run.
struct Past {
    std::string started;                  // UTC, as in the manifest; empty: starts now
    std::int64_t resumed = 0;             // number of resumes, this one included
    std::vector<std::string> other_bits;  // differences accepted by --allow-other-bits
    Progress progress;
};

/// Where a resumed run continues, and what was found on the way there.
struct ResumePoint {
    std::int64_t round = 0;            // rounds finished
    TablePositions tables;             // the tables' ends at that round
    std::string checkpoint;            // file name of its checkpoint; empty: from the beginning
    std::int64_t done_again = 0;       // later rounds in rounds.csv, which are done again
    std::vector<std::string> damaged;  // why newer checkpoints are unusable
    std::vector<std::string> changed;  // "rounds: 3 -> 6"
};

class Reporter {
public:
    /// `folder`: null in a rank without output, which only counts.
    Reporter(const Experiment& run, RunFolder* folder, bool quiet, Past past = {});

    /// Writes the first manifest, with exit_status "running", and shows the plan.
    void start();
    void resume(const ResumePoint& point);

    /// Passes the failure counts so far to the fleet and listens to its failures. Keep the live line while rounds run; the
    /// fleet must outlive it.
    [[nodiscard]] Console::LiveLine start_rounds(Fleet& fleet);
    RoundRecord begin(const ServerState& server) const;
    void report(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);

    /// The totals of all rounds reported so far.
    Progress progress() const;

    /// Writes the model and the last manifest, and says where the results are. Throws Fault, on every rank, if no round has
    /// changed the model.
    void finish();

    /// Call when the run stops as planned before its last round.
    void paused();

    /// Call after an interrupt, or an error that ends the run: writes the event and the manifest; the tables keep what was
    /// reported.
    void interrupted(const std::string& signal);
    /// `diverged`: a resume would diverge again, so none is offered.
    void failed(const std::string& error, bool diverged);

private:
    void note_failure(const clients::ClientFailure& failure, FailureAction action);
    void stopped(const std::string& exit_status);
    void require_step() const;
    std::string how_to_go_on(const std::string& what) const;
    void write_manifest(const std::string& exit_status) const;
    nlohmann::json final_hash() const;

    const Experiment& run_;
    RunFolder* folder_;
    Console console_;
    Past past_;
    bool diverged_ = false;
    std::optional<double> clients_mean_;  // of the last evaluation on clients, by the task's main metric
    std::int64_t start_ns_;
    const Fleet* fleet_ = nullptr;  // while rounds run
    std::size_t failures_shown_ = 0;
};

}  // namespace fedhive::sim
