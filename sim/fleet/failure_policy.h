// The config's policy on failures, with its counters: which attempt of a client is the last, how many failures there were, and the listener that is
// told of each. Workers and tasks are in recovery.h.
#pragma once

#include "clients/protocol/failure.h"
#include "sim/config/run_config.h"
#include "sim/round/flight.h"
#include "sim/round/round_record.h"

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// What was done after a failure. Retried, Dropped: the client; Aborted: the run ends; Replaced: a worker that had no client; FewerWorkers: workers
/// were ended for good.
enum class FailureAction { Retried, Dropped, Aborted, Replaced, FewerWorkers };

/// "retried", "dropped", … as in events.jsonl.
const char* to_string(FailureAction action);

/// Called with every failure when it is found.
using FailureListener = std::function<void(const clients::ClientFailure& failure, FailureAction action)>;

/// Thrown to end the run: by policy abort, after the last attempt, or after too many deaths in a row.
struct RunAborted : std::runtime_error {
    explicit RunAborted(clients::ClientFailure cause) : std::runtime_error(cause.describe()), failure(std::move(cause)) {}
    clients::ClientFailure failure;
};

class FailurePolicy {
public:
    explicit FailurePolicy(const FailuresConfig& failures) : failures_(failures) {}

    /// Drops the client, or counts one more attempt. may_drop: false for a chunk of an evaluation, which a round needs. Throws
    /// RunAborted if the policy is abort or this attempt was the last.
    void resolve(Attempts& entry, clients::ClientFailure failure, bool may_drop);

    /// Counts a lost worker, which is replaced. Throws RunAborted after kMostDeathsInARow losses without an accepted update, since no single client
    /// can be the cause.
    void count_death(const clients::ClientFailure& failure);

    /// To be called when a task is done: sets the number of deaths in a row to 0.
    void work_goes_on() { counts_.deaths_in_a_row = 0; }

    /// The largest number of attempts of one client in one round; may_drop: the client may be dropped.
    std::int64_t most_attempts(bool may_drop) const {
        const bool again = failures_.policy == OnFailure::Retry || (failures_.policy == OnFailure::Drop && !may_drop);
        return again ? failures_.attempts : 1;
    }

    /// Whether the first failure ends the run.
    bool aborts() const { return failures_.policy == OnFailure::Abort; }

    /// Failures of this rank's workers, for the other ranks, which count and report them as their own. Taking them empties the list.
    struct Report {
        clients::ClientFailure failure;
        FailureAction action{};
    };
    void collect_reports() { collects_reports_ = true; }
    std::vector<Report> take_reports() { return std::exchange(reports_, {}); }
    std::uint64_t take_replaced() { return std::exchange(replaced_, 0); }
    void count_report_of_others(const Report& report) { count(report.failure, report.action); }
    void count_replaced_by_others(std::uint64_t workers) { counts_.workers_replaced += workers; }
    /// the_same: true while clients are sent out, when each rank finds the same failures, so that they are not exchanged.
    void same_on_all_ranks(bool the_same) { same_on_all_ranks_ = the_same; }

    /// Counts the failure and tells the listener.
    void tell(const clients::ClientFailure& failure, FailureAction action);
    [[noreturn]] void abort(clients::ClientFailure failure);

    /// Sets the receiver of failures; none at first.
    void on_failure(FailureListener listener) { listener_ = std::move(listener); }
    const FailureCounts& counts() const { return counts_; }
    void restore(const FailureCounts& counts) { counts_ = counts; }

private:
    void count(const clients::ClientFailure& failure, FailureAction action);

    FailuresConfig failures_;
    FailureCounts counts_;
    FailureListener listener_;
    bool collects_reports_ = false;
    bool same_on_all_ranks_ = false;
    std::vector<Report> reports_;
    std::uint64_t replaced_ = 0;  // workers replaced since take_replaced()
};

}  // namespace fedhive::sim
