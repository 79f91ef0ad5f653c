// What the fleet does about failures: the policy of the config, workers replaced or left away, memory given back.
#include "aggregation/base/error.h"
#include "sim/fleet/fleet.h"
#include "sim/machine/machine.h"

#include <algorithm>
#include <set>

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

/// A client before each of its attempts: which fault is waiting for it, and whether it takes part at all.
void Fleet::take_part(std::size_t slot, std::size_t participant) {
    Participant& client = flights_[slot]->clients[participant];
    const auto [round, repeat] = std::pair(flights_[slot]->task.round, flights_[slot]->task.repeat);
    clients::Member& member = block_.members()[member_index(slot, participant)];
    for (;;) {
        const FaultConfig* fault = options_.faults.at(round, client.client_id, repeat, client.attempts.attempt);
        member.fault = injected(fault);
        if (fault == nullptr || fault->kind != "drop") return;
        ClientFailure failure;
        failure.kind = FailureKind::Dropped;
        failure.round = round + std::int64_t{1};
        failure.client_id = client.client_id;
        failure.message = "injected: did not take part";
        resolve_attempt(client.attempts, failure, true);
        member.left_out = client.attempts.dropped ? 1 : 0;
        if (client.attempts.dropped) return;
    }
}

void Fleet::resolve(std::vector<clients::FoundFailure> found) {
    while (!found.empty()) {
        clients::FoundFailure next = found.front();
        found.erase(found.begin());
        const bool of_group =
            options_.mode.group_size() > 1 && next.cell && *next.cell < first_chunk() && flights_[slot_of(*next.cell)];
        if (of_group) next = recall_group(next, found);
        resolve_one(next);
    }
}

void Fleet::resolve_one(clients::FoundFailure found) {
    if (runner_) {
        found.failure.worker = -1;  // no process but this one, which has lost the device
        if (found.failure.kind == FailureKind::DeviceError) abort(found.failure);
    }
    // What was written in place stays, so it is not done again.
    const bool again =
        found.failure.kind == FailureKind::OutOfMemory && !options_.mode.in_place() && leave_fewer_workers(found.failure);
    const bool is_slot = found.cell && *found.cell < first_chunk();
    const bool unwanted = is_slot && !flights_[slot_of(*found.cell)];  // of one that was left behind: no reason to end the run
    if (found.worker_lost) replace_worker(found, unwanted);
    if (!found.cell || unwanted) {
        if (!again && !unwanted && options_.failures.policy == "abort") abort(found.failure);
        if (!again) tell(found.failure, FailureAction::Replaced);
        return;
    }
    if (is_slot) return resolve_client(slot_of(*found.cell), found.failure, again);
    const std::size_t chunk = *found.cell - first_chunk();
    if (again) {
        ++chunk_attempts_[chunk].attempt;
        ++chunk_attempts_[chunk].forgiven;
    } else {
        resolve_attempt(chunk_attempts_[chunk], found.failure, false);
    }
    barrier_.put(*found.cell, chunks_[chunk]);
    barrier_.ring();
}

/// `forgiven`: it ran out of memory, and fewer workers are left to try again.
void Fleet::resolve_client(std::size_t slot, ClientFailure failure, bool forgiven) {
    Flight& flight = *flights_[slot];
    const auto blamed = std::find_if(flight.clients.begin(), flight.clients.end(), [&](const Participant& client) {
        return client.client_id == static_cast<std::uint32_t>(failure.client_id);
    });
    FEDHIVE_CHECK(blamed != flight.clients.end(), "client {} is not in slot {}", failure.client_id, slot);
    const auto participant = static_cast<std::size_t>(blamed - flight.clients.begin());
    failure.attempt = blamed->attempts.attempt;
    if (failure.kind == FailureKind::NonFinite) require_finite_model(flight, failure);
    if (forgiven) {
        ++blamed->attempts.attempt;
        ++blamed->attempts.forgiven;
    } else {
        resolve_attempt(blamed->attempts, std::move(failure), true);
        block_.members()[member_index(slot, participant)].left_out = blamed->attempts.dropped ? 1 : 0;
    }
    if (!blamed->attempts.dropped) take_part(slot, participant);
    if (options_.mode.one_group()) others_try_again(slot);
    put_group(slot);
    barrier_.ring();
}

/// Nobody can train from a model that is not finite: whatever the policy says of clients, it is not theirs.
void Fleet::require_finite_model(const Flight& flight, ClientFailure failure) {
    if (options_.mode.in_place() || aggregation::all_finite(arena_.global(flight.task.global_index))) return;
    failure.message = fmt::format(
        "the global model it started from (version {}) holds a NaN or an infinity, so that nobody can "
        "train from it; {}",
        flight.version, options_.help_for_model);
    abort(std::move(failure));
}

void Fleet::replace_worker(const clients::FoundFailure& found, bool needed) {
    const auto worker = static_cast<std::size_t>(found.failure.worker);
    if (std::find(active_.begin(), active_.end(), worker) == active_.end()) return;  // it was one of those left away
    const bool ends_the_run = options_.failures.policy == "abort" && found.failure.kind != FailureKind::OutOfMemory;
    if (ends_the_run && !needed) return;
    if (!barrier_.lost(worker)) return;  // it was started again with all others
    ++counts_.deaths_in_a_row;
    ++counts_.workers_replaced;
    if (counts_.deaths_in_a_row >= kMostDeathsInARow) {
        ClientFailure failure = found.failure;
        failure.message = fmt::format("{}; with it, {} workers were lost and no update was accepted in between",
                                      failure.message, counts_.deaths_in_a_row);
        abort(failure);
    }
    if (options_.renew_mps) return restart_all();
    pool_->replace(worker);
    barrier_.worker_replaced(worker);
}

/// A client of MPS that dies with work on the GPU leaves the server and its other clients undefined (NVIDIA, "Multi-Process Service"): all of
/// them end, and begin anew under a new server. Who was at work begins its task again, which is no attempt of its clients.
void Fleet::restart_all() {
    std::vector<std::size_t> cells;
    for (const std::size_t worker : active_)
        if (const auto cell = barrier_.lost(worker) ? std::nullopt : barrier_.recall(worker)) cells.push_back(*cell);
    put_again(cells);  // before anybody is there to claim half of a group
    pool_->set_environment(options_.renew_mps());
    for (const std::size_t worker : active_) {
        pool_->replace(worker);
        barrier_.worker_replaced(worker);
    }
    barrier_.ring();
}

/// Tasks that their workers have let go of, for others; nobody's where the clients were left behind.
void Fleet::put_again(const std::vector<std::size_t>& cells) {
    std::set<std::size_t> slots;
    for (const std::size_t cell : cells) {
        if (cell >= first_chunk())
            barrier_.put(cell, chunks_[cell - first_chunk()]);
        else if (flights_[slot_of(cell)])
            slots.insert(slot_of(cell));
    }
    for (const std::size_t slot : slots) {
        // The halves of a group have lost each other.
        if (options_.mode.group_size() > 1) barrier_.withdraw(group_cells(slot));
        put_group(slot);
        if (options_.mode.one_group()) return;
    }
}

/// Half of the workers go, so that the memory they hold is there for the others. False when there is but one, or where workers work together:
/// whoever went would take the work of others along.
bool Fleet::leave_fewer_workers(ClientFailure& failure) {
    if (active_.size() <= 1 || options_.mode.group_size() > 1) {
        failure.message += fmt::format("; {}, {} of memory are available on the host",
                                       active_.size() > 1 ? "none of the workers can be spared" : "nobody else was at work",
                                       human_bytes(this_machine().available_memory));
        return false;
    }
    while (active_.size() > 1 && active_.size() > (options_.workers + 1) / 2) {
        const auto cell = barrier_.retire(active_.back());
        active_.pop_back();
        num_active_ = active_.size();
        if (cell) put_again({*cell});
    }
    barrier_.ring();
    if (options_.renew_mps) restart_all();
    options_.workers = static_cast<std::uint32_t>(active_.size());
    failure.message += fmt::format("; tried again with {} worker{}", active_.size(), active_.size() == 1 ? "" : "s");
    tell(failure, FailureAction::FewerWorkers);
    return true;
}

/// Policy: drop the client, or count one more attempt; a chunk of the evaluation is never left out.
void Fleet::resolve_attempt(Attempts& entry, ClientFailure failure, bool may_drop) {
    failure.attempt = entry.attempt;
    if (options_.failures.policy == "abort") abort(failure);
    entry.worker = static_cast<std::uint32_t>(std::max<std::int64_t>(0, failure.worker));
    if (options_.failures.policy == "drop" && may_drop) {
        entry.dropped = failure.kind;
        return tell(failure, FailureAction::Dropped);
    }
    if (entry.attempt - entry.forgiven >= options_.failures.attempts) {
        failure.message += fmt::format(" (attempt {} of {})", entry.attempt - entry.forgiven, options_.failures.attempts);
        abort(failure);
    }
    tell(failure, FailureAction::Retried);
    ++entry.attempt;
}

}  // namespace fedhive::sim
