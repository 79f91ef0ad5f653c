// The only voice of a run: what is shown, and what is written down. One record per round, a manifest at the start and at the end.
#pragma once

#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"
#include "sim/run/console.h"
#include "sim/run/run_folder.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

/// What a run was before this process took it up; of a new run, nothing.
struct Past {
    std::string started;                  // UTC, as in the manifest; empty: now
    std::int64_t resumed = 0;             // how often, this time included
    std::vector<std::string> other_bits;  // what was different when it was resumed with --allow-other-bits
    Progress progress;
};

/// Where a resumed run goes on, and what was found on the way there.
struct ResumePoint {
    std::int64_t round = 0;            // rounds done
    TablePositions tables;             // where the tables end then
    std::string checkpoint;            // its file's name; empty: from the beginning
    std::int64_t done_again = 0;       // rounds behind it that stand in rounds.csv
    std::vector<std::string> damaged;  // why newer checkpoints cannot be used
    std::vector<std::string> changed;  // "rounds: 3 -> 6"
};

class Reporter {
public:
    /// `folder`: null in a rank that writes nothing and says nothing; then it only counts.
    Reporter(const Experiment& run, RunFolder* folder, bool quiet, Past past = {});

    /// Writes the first manifest, with exit_status "running", and shows the plan.
    void start();
    void resume(const ResumePoint& point);

    /// Gives the fleet the failure counts so far and listens to it. The live line, to be kept while rounds run, may not outlive the fleet.
    [[nodiscard]] Console::LiveLine start_rounds(Fleet& fleet);
    RoundRecord begin(const ServerState& server) const;
    void report(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);

    /// What the rounds reported so far add up to.
    Progress progress() const;

    /// Writes the model and the last manifest, says where the results are. Throws Fault, on every rank, where no round's updates became part of
    /// the model: it is still the one that the run began with.
    void finish();

    /// Where the run was to go no further for now.
    void paused();

    /// After an interrupt, or an error that ends the run: the event and the manifest; the tables keep what was reported before.
    void interrupted(const std::string& signal);
    /// `diverged`: a resume would come to the same end, so none is offered.
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
