// What the fleet does about failures: the policy of the config, workers replaced or left away, memory given back.
#include "aggregation/base/error.h"
#include "sim/fleet.h"
#include "sim/machine.h"

#include <algorithm>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;

namespace {

/// Workers lost one after the other, without a single update accepted in between: the machine or the config is broken, not a client.
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

void Fleet::tell(const ClientFailure& failure, FailureAction action) {
    ++counts_.failures;
    if (action == FailureAction::Retried || action == FailureAction::FewerWorkers) ++counts_.retried;
    if (action == FailureAction::Dropped) ++counts_.dropped;
    if (listener_) listener_(failure, action);
}

void Fleet::abort(ClientFailure failure) {
    tell(failure, FailureAction::Aborted);
    throw RunAborted(std::move(failure));
}

void Fleet::count_progress() {
    const std::size_t done = barrier_.num_done();
    if (done > done_) counts_.deaths_in_a_row = 0;
    done_ = done;
}

/// A cohort member before each of its attempts: which fault is waiting for it, and whether it takes part at all.
void Fleet::take_part(std::size_t member, std::uint32_t round) {
    for (;;) {
        const FaultConfig* fault = options_.faults.at(round, cohort_[member], attempts_[member].attempt);
        block_.members()[member].fault = injected(fault);
        if (fault == nullptr || fault->kind != "drop") return;
        ClientFailure failure;
        failure.kind = FailureKind::Dropped;
        failure.round = round + std::int64_t{1};
        failure.client_id = cohort_[member];
        failure.message = "injected: did not take part";
        resolve_attempt(member, failure, true);
        if (attempts_[member].dropped) return;
    }
}

void Fleet::resolve(clients::FoundFailure found) {
    if (runner_) found.failure.worker = -1;  // no process but this one
    const bool again = found.failure.kind == FailureKind::OutOfMemory && leave_fewer_workers(found.failure);
    if (found.worker_lost) replace_worker(found);
    if (!found.task_index) {
        if (!again && options_.failures.policy == "abort") abort(found.failure);
        if (!again) tell(found.failure, FailureAction::Replaced);
        return;
    }
    if (again) {
        Attempts& entry = attempts_[blamed_entry(*found.task_index, found.failure)];
        ++entry.attempt;
        ++entry.forgiven;
        if (tasks_[*found.task_index].kind == clients::TaskKind::Train)
            take_part(blamed_entry(*found.task_index, found.failure), tasks_[*found.task_index].round);
    } else {
        resolve_task(*found.task_index, found.failure);
    }
    publish_again(*found.task_index);
}

void Fleet::replace_worker(const clients::FoundFailure& found) {
    const auto worker = static_cast<std::size_t>(found.failure.worker);
    if (std::find(active_.begin(), active_.end(), worker) == active_.end()) return;  // it was one of those left away
    if (options_.failures.policy == "abort" && found.failure.kind != FailureKind::OutOfMemory) return;  // nobody will need it
    ++counts_.deaths_in_a_row;
    ++counts_.workers_replaced;
    if (counts_.deaths_in_a_row >= kMostDeathsInARow) {
        ClientFailure failure = found.failure;
        failure.message = fmt::format("{}; with it, {} workers were lost and no update was accepted in between",
                                      failure.message, counts_.deaths_in_a_row);
        abort(failure);
    }
    pool_->replace(worker);
    barrier_.worker_replaced(worker);
}

/// Half of the workers go, so that the memory they hold is there for the others. False when there is but one.
bool Fleet::leave_fewer_workers(ClientFailure& failure) {
    if (active_.size() <= 1) {
        failure.message += fmt::format("; nobody else was at work, {} of memory are available on the host",
                                       human_bytes(this_machine().available_memory));
        return false;
    }
    while (active_.size() > 1 && active_.size() > (options_.workers + 1) / 2) {
        const auto task = barrier_.retire(active_.back());
        active_.pop_back();
        if (task) publish_again(*task);
    }
    options_.workers = static_cast<std::uint32_t>(active_.size());
    failure.message += fmt::format("; tried again with {} worker{}", active_.size(), active_.size() == 1 ? "" : "s");
    tell(failure, FailureAction::FewerWorkers);
    return true;
}

/// The member of the cohort, or the chunk, that a task's failure is put down to.
std::size_t Fleet::blamed_entry(std::size_t task_index, const ClientFailure& failure) const {
    const clients::Task& task = tasks_[task_index];
    if (task.kind != clients::TaskKind::Train) return task_index;
    const auto begin = cohort_.begin() + static_cast<std::ptrdiff_t>(task.first);
    const auto end = begin + static_cast<std::ptrdiff_t>(task.count);
    const auto found = std::find(begin, end, static_cast<std::uint32_t>(failure.client_id));
    FEDHIVE_CHECK(found != end, "client {} is not in slot {}", failure.client_id, task.slot);
    return static_cast<std::size_t>(found - cohort_.begin());
}

void Fleet::resolve_task(std::size_t task_index, const ClientFailure& failure) {
    const clients::Task& task = tasks_[task_index];
    const std::size_t entry = blamed_entry(task_index, failure);
    const bool is_client = task.kind == clients::TaskKind::Train;
    resolve_attempt(entry, failure, is_client);
    if (is_client && !attempts_[entry].dropped) take_part(entry, task.round);
}

/// Policy: drop the client, or count one more attempt; a chunk of the evaluation is never left out.
void Fleet::resolve_attempt(std::size_t entry, ClientFailure failure, bool may_drop) {
    Attempts& one = attempts_[entry];
    failure.attempt = one.attempt;
    if (options_.failures.policy == "abort") abort(failure);
    one.worker = static_cast<std::uint32_t>(std::max<std::int64_t>(0, failure.worker));
    if (options_.failures.policy == "drop" && may_drop) {
        one.dropped = failure.kind;
        block_.members()[entry].left_out = 1;
        return tell(failure, FailureAction::Dropped);
    }
    if (one.attempt - one.forgiven >= options_.failures.attempts) {
        failure.message += fmt::format(" (attempt {} of {})", one.attempt - one.forgiven, options_.failures.attempts);
        abort(failure);
    }
    tell(failure, FailureAction::Retried);
    ++one.attempt;
}

void Fleet::publish_again(std::size_t task_index) {
    clients::Task task = tasks_[task_index];
    if (!wanted(task)) return;  // all of its clients were dropped
    task.deadline_s = deadline_of(task);
    barrier_.publish_again(task_index, task);
}

}  // namespace fedhive::sim
