#include "sim/fleet/recovery.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "sim/machine/machine.h"

#include <algorithm>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;
using clients::FoundFailure;

void Recovery::resolve(std::vector<FoundFailure> found) {
    while (!found.empty()) {
        FoundFailure next = found.front();
        found.erase(found.begin());
        const bool of_group = options_.mode.group_size() > 1 && next.cell && board_.is_slot(*next.cell) &&
                              flights_.has(board_.slot_of(*next.cell));
        if (of_group) next = recall_group(next, found);
        resolve_one(next);
    }
}

void Recovery::resolve_one(FoundFailure found) {
    if (workforce_.is_coordinator()) {
        found.failure.worker = -1;  // the coordinator itself has lost the device
        if (found.failure.kind == FailureKind::DeviceError) policy_.abort(found.failure);
    }
    // Training in place leaves its writes in the model, so it is not repeated.
    const bool again =
        found.failure.kind == FailureKind::OutOfMemory && !options_.mode.in_place() && leave_fewer_workers(found.failure);
    const bool is_slot = found.cell && board_.is_slot(*found.cell);
    const bool unwanted =
        is_slot && !flights_.has(board_.slot_of(*found.cell));  // a task left behind: no reason to end the run
    if (found.worker_lost) replace_worker(found, unwanted);
    if (!found.cell || unwanted) {
        if (!again && !unwanted && policy_.aborts()) policy_.abort(found.failure);
        if (!again) policy_.tell(found.failure, FailureAction::Replaced);
        return;
    }
    if (is_slot)
        resolve_client(board_.slot_of(*found.cell), found.failure, again);
    else
        resolve_chunk(*found.cell, found.failure, again);
    board_.ring();
}

/// forgiven: it ran out of memory, and fewer workers are left to try again.
void Recovery::resolve_client(std::size_t slot, ClientFailure failure, bool forgiven) {
    Flight& flight = flights_.at(slot);
    const auto blamed = std::find_if(flight.clients.begin(), flight.clients.end(), [&](const Participant& client) {
        return client.client_id == static_cast<std::uint32_t>(failure.client_id);
    });
    FEDHIVE_CHECK(blamed != flight.clients.end(), "client {} is not in slot {}", failure.client_id, slot);
    const auto participant = static_cast<std::size_t>(blamed - flight.clients.begin());
    failure.attempt = blamed->attempts.attempt;
    if (flights_.is_root(slot)) failure.message = "the server's root client: " + failure.message;
    if (failure.kind == FailureKind::NonFinite) require_finite_model(flight, failure);
    if (forgiven) {
        ++blamed->attempts.attempt;
        ++blamed->attempts.forgiven;
    } else {
        policy_.resolve(blamed->attempts, std::move(failure), !flights_.is_root(slot));
        flights_.leave_out_if_dropped(slot, participant);
    }
    if (!blamed->attempts.dropped) flights_.take_part(slot, participant);
    flights_.try_again(slot);
}

void Recovery::resolve_chunk(std::size_t cell, const ClientFailure& failure, bool forgiven) {
    Attempts& entry = chunks_.attempts(cell);
    if (forgiven) {
        ++entry.attempt;
        ++entry.forgiven;
    } else {
        policy_.resolve(entry, failure, false);
    }
    chunks_.put_again(cell);
}

/// A global model that is not finite is no client's failure: aborts, whatever the policy says of clients.
void Recovery::require_finite_model(const Flight& flight, ClientFailure failure) {
    if (options_.mode.in_place() || aggregation::all_finite(arena_.global(flight.task.global_index))) return;
    failure.message =
        fmt::format("its global model (version {}) contains a NaN or an infinity, so no client can train from it; {}",
                    flight.version, options_.help_for_model);
    policy_.abort(std::move(failure));
}

/// Withdraws all tasks of the group (replicas, the halves of a split model) in which `first` went wrong: none can finish
/// without the lost one. Returns the failure that caused it; the others only waited in vain. Moves other failures found
/// meanwhile into `others`, and those of this group out of it.
FoundFailure Recovery::recall_group(const FoundFailure& first, std::vector<FoundFailure>& others) {
    const std::vector<std::size_t> cells = flights_.cells_of_group(board_.slot_of(*first.cell));
    const auto elsewhere = [&](const FoundFailure& one) {
        return !one.cell || std::find(cells.begin(), cells.end(), *one.cell) == cells.end();
    };
    board_.withdraw(cells);
    for (;;) {
        const std::vector<FoundFailure> more = board_.wait_until_let_go(cells);
        others.insert(others.end(), more.begin(), more.end());
        if (more.empty()) break;
    }
    std::vector<FoundFailure> of_group{first};
    const auto begin = std::stable_partition(others.begin(), others.end(), elsewhere);
    of_group.insert(of_group.end(), begin, others.end());
    others.erase(begin, others.end());
    const auto cause =
        std::find_if(of_group.begin(), of_group.end(), [](const FoundFailure& one) { return !one.missing_rank; });
    FoundFailure culprit = cause != of_group.end() ? *cause : of_group.front();
    for (const FoundFailure& one : of_group)
        if (one.worker_lost && one.failure.worker != culprit.failure.worker) replace_worker(one);
    if (culprit.missing_rank && *culprit.missing_rank < cells.size()) {
        // Nobody has died or thrown, and a hung worker would have been killed by now: the missing rank is only too slow.
        culprit.cell = cells[*culprit.missing_rank];
        culprit.failure.kind = FailureKind::Late;
        culprit.failure.client_id = flights_.at(board_.slot_of(*culprit.cell)).clients.front().client_id;
    }
    return culprit;
}

void Recovery::replace_worker(const FoundFailure& found, bool needed) {
    const auto worker = static_cast<std::size_t>(found.failure.worker);
    if (!workforce_.is_active(worker)) return;  // it was sent away before
    const bool ends_the_run = policy_.aborts() && found.failure.kind != FailureKind::OutOfMemory;
    if (ends_the_run && !needed) return;
    if (!workforce_.barrier().lost(worker)) return;  // it was restarted with all others
    policy_.count_death(found.failure);
    if (options_.renew_mps) return restart_all();
    workforce_.replace(worker);
}

/// An MPS client that dies with work on the GPU leaves the server and its other clients undefined (NVIDIA, "Multi-Process
/// Service"): all workers end and restart under a new server. Interrupted tasks begin again, which does not count as an attempt
/// of their clients.
void Recovery::restart_all() {
    put_again(workforce_.end_all());  // before a worker can claim half of a group
    workforce_.replace_all(options_.renew_mps());
    board_.ring();
}

/// Sends half of the workers away, to free their memory for the others. False if there is one worker, or if workers form
/// groups: a worker that goes would take the work of its group along.
bool Recovery::leave_fewer_workers(ClientFailure& failure) {
    const std::size_t before = workforce_.num_active();
    if (before <= 1 || options_.mode.group_size() > 1) {
        failure.message += fmt::format("; {}, {} of memory are available on the host",
                                       before > 1 ? "no worker can be stopped to free memory" : "no other worker was at work",
                                       human_bytes(this_machine().available_memory));
        return false;
    }
    put_again(workforce_.end_half());
    board_.ring();
    if (options_.renew_mps) restart_all();
    const std::size_t left = workforce_.num_active();
    failure.message += fmt::format("; tried again with {} worker{}", left, left == 1 ? "" : "s");
    policy_.tell(failure, FailureAction::FewerWorkers);
    return true;
}

void Recovery::put_again(std::span<const std::size_t> cells) {
    std::vector<std::size_t> of_slots;
    for (const std::size_t cell : cells) {
        if (board_.is_slot(cell))
            of_slots.push_back(cell);
        else
            chunks_.put_again(cell);
    }
    flights_.put_again(of_slots);
}

}  // namespace fedhive::sim
