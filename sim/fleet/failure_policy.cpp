#include "sim/fleet/failure_policy.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::sim {

using clients::ClientFailure;

namespace {

/// Workers lost one after the other without an accepted update in between: the machine or the config is broken, not a client.
constexpr std::uint64_t kMostDeathsInARow = 20;

}  // namespace

const char* to_string(FailureAction action) {
    switch (action) {
        case FailureAction::Retried:
            return "retried";
        case FailureAction::Dropped:
            return "dropped";
        case FailureAction::Aborted:
            return "aborted";
        case FailureAction::Replaced:
            return "replaced";
        case FailureAction::FewerWorkers:
            return "fewer_workers";
    }
    return "unknown";
}

void FailurePolicy::tell(const ClientFailure& failure, FailureAction action) {
    if (collects_reports_ && !same_on_all_ranks_) reports_.push_back({failure, action});
    count(failure, action);
}

void FailurePolicy::count(const ClientFailure& failure, FailureAction action) {
    ++counts_.failures;
    if (action == FailureAction::Retried || action == FailureAction::FewerWorkers) ++counts_.retried;
    if (action == FailureAction::Dropped) ++counts_.dropped;
    if (listener_) listener_(failure, action);
}

void FailurePolicy::abort(ClientFailure failure) {
    tell(failure, FailureAction::Aborted);
    throw RunAborted(std::move(failure));
}

void FailurePolicy::resolve(Attempts& entry, ClientFailure failure, bool may_drop) {
    failure.attempt = entry.attempt;
    if (aborts()) abort(failure);
    entry.worker = static_cast<std::uint32_t>(std::max<std::int64_t>(0, failure.worker));
    if (failures_.policy == OnFailure::Drop && may_drop) {
        entry.dropped = failure.kind;
        return tell(failure, FailureAction::Dropped);
    }
    if (entry.attempt - entry.forgiven >= failures_.attempts) {
        failure.message += fmt::format(" (attempt {} of {})", entry.attempt - entry.forgiven, failures_.attempts);
        abort(failure);
    }
    tell(failure, FailureAction::Retried);
    ++entry.attempt;
}

void FailurePolicy::count_death(const ClientFailure& failure) {
    ++counts_.deaths_in_a_row;
    ++counts_.workers_replaced;
    ++replaced_;
    if (counts_.deaths_in_a_row < kMostDeathsInARow) return;
    ClientFailure last = failure;
    last.message =
        fmt::format("{}; {} workers in a row were lost without an accepted update", last.message, counts_.deaths_in_a_row);
    abort(last);
}

}  // namespace fedhive::sim
