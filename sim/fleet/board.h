// The fleet's layout of the task board (clients/protocol/round_barrier.h), whose cells hold one task each: the cells of slot 0, of slot 1, …, then
// one cell for each chunk of an evaluation or range of an aggregate. The tasks of a slot have adjacent cells and are put, so also claimed, one
// after the other. So at most one group of two tasks is incomplete at a time, and the next free worker completes it. With several ranks, a
// slot that another rank trains has no task here. This file knows no client and no policy.
#pragma once

#include "aggregation/memory/arena.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/round_barrier.h"
#include "clients/tasks/evaluation_sums.h"
#include "sim/fleet/due_key.h"
#include "sim/fleet/fleet_options.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fedhive::sim {

/// The sizes of a control block with cells for the tasks of all slots and for `num_chunks` chunks.
clients::ControlGeometry board_geometry(const FleetOptions& options, std::uint64_t num_chunks,
                                        const aggregation::ArenaGeometry& arena, const clients::SumsPlan& sums);

class Board {
public:
    /// `block` and `barrier` must outlive this.
    Board(const Mode& mode, const SlotPlan& slots, const clients::ControlBlock& block, clients::RoundBarrier& barrier)
        : tasks_(mode.tasks),
          ranked_(mode.group != WorkerGroup::None),
          num_slots_(slots.num_slots(mode)),
          elsewhere_(num_slots_),
          block_(block),
          barrier_(barrier) {}

    std::size_t num_slots() const { return num_slots_; }
    std::size_t slot_of(std::size_t cell) const { return cell / tasks_.size(); }
    /// The slot's cells; empty for a slot that another rank trains.
    std::vector<std::size_t> cells_of(std::size_t slot) const;
    std::size_t cell_of_chunk(std::size_t chunk) const { return first_cell(num_slots_) + chunk; }
    std::size_t chunk_of(std::size_t cell) const { return cell - first_cell(num_slots_); }
    bool is_slot(std::size_t cell) const { return cell < first_cell(num_slots_); }

    /// To be called when the slot gets another flight. here: this rank trains it.
    void assign(std::size_t slot, bool here) { elsewhere_[slot] = {.is = !here}; }
    bool is_here(std::size_t slot) const { return !elsewhere_[slot].is; }
    /// To be called when the rank that trains the slot, another one, has reported when its task finished.
    void finished_elsewhere(std::size_t slot, std::int64_t finished_ns) { elsewhere_[slot].finished_ns = finished_ns; }

    /// Puts the slot's task on the board once for each worker that it needs, unless another rank trains it.
    void put(std::size_t slot, clients::Task task, DueKey due);
    void put_chunk(std::size_t chunk, const clients::Task& task) { barrier_.put(cell_of_chunk(chunk), task); }
    /// Queues the tasks that were put, and wakes the workers.
    void ring() { barrier_.ring(); }
    /// Resets the rank cells of these slots for the next attempt, if workers are ranks of a group. None of the slots may be put
    /// or in work.
    void renew_ranks(std::span<const std::size_t> slots);

    bool is_done(std::size_t slot) const;
    std::size_t num_done(std::span<const std::size_t> cells) const;
    /// Time when the slot's first task finished, by now_ns(). The slot must be done.
    std::int64_t finished_ns(std::size_t slot) const {
        return is_here(slot) ? block_.task(first_cell(slot)).finished_ns : elsewhere_[slot].finished_ns.value();
    }
    std::uint32_t worker_of(std::size_t slot) const { return barrier_.worker_of(first_cell(slot)); }
    const clients::TaskCell& chunk(std::size_t chunk) const { return block_.task(cell_of_chunk(chunk)); }
    std::span<const double> chunk_sums(std::size_t chunk) const { return block_.sums(cell_of_chunk(chunk)); }

    /// Withdraws these tasks. wait_until_let_go() must follow.
    void withdraw(std::span<const std::size_t> cells) { barrier_.withdraw(cells); }
    std::vector<clients::FoundFailure> wait_until_let_go(std::span<const std::size_t> cells) {
        return barrier_.wait_until_let_go(cells);
    }

    /// index: from the `first` of a slot's task on.
    clients::Member& member(std::size_t index) { return block_.members()[index]; }
    const clients::ClientResult& result(std::size_t index) const { return block_.results()[index]; }
    /// Sets the result of a member that another rank has trained. No worker of this rank writes it.
    void set_result(std::size_t index, const clients::ClientResult& result) { block_.results()[index] = result; }
    std::span<std::uint32_t> evaluated() { return block_.evaluated(); }
    std::span<const double> client_sums(std::size_t evaluated) const { return block_.client_sums(evaluated); }
    std::span<const double> losses() const { return block_.losses(); }
    std::span<clients::Term> terms() { return block_.terms(); }
    std::span<std::uint32_t> groups() { return block_.groups(); }

private:
    std::size_t first_cell(std::size_t slot) const { return slot * tasks_.size(); }

    std::vector<clients::TaskKind> tasks_;
    bool ranked_;
    std::size_t num_slots_;
    struct Elsewhere {
        bool is = false;
        std::optional<std::int64_t> finished_ns{};  // by this host's now_ns()
    };
    std::vector<Elsewhere> elsewhere_;  // by slot
    const clients::ControlBlock& block_;
    clients::RoundBarrier& barrier_;
};

}  // namespace fedhive::sim
