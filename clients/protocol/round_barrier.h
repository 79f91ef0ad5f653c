// Handing out tasks and waiting for them: the coordinator's and the worker's side of one board. The state words in the control block are the
// truth; semaphores only say "look again".
//
//   coordinator                                   worker w
//   publish(tasks): cells → Ready, ring all       wait for my door-bell
//   wait(quorum): until enough are finished       claim: Ready → Claimed(w)          compare-and-swap: one winner
//                 or somebody is dead             run, write results
//                 or a deadline has passed        finish: Claimed(w) → Done | Failed;  rings the coordinator at wake_at
//
// The idea of epoch words as truth and semaphores as hint: process-shared barriers count a participant killed while waiting as arrived, and
// hang for one killed before; here a dead worker can be counted never, and a stale ring is harmless.
#pragma once

#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/watcher.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace fedhive::clients {

/// A task that a worker has claimed.
struct Claim {
    std::size_t task_index = 0;
    std::uint64_t state_word = 0;
};

/// Worker's side. Process: any worker; also the coordinator itself when it trains without workers.
class TaskBoard {
public:
    TaskBoard(const ControlBlock& block, std::uint32_t worker) : block_(block), worker_(worker) {}

    /// Takes a Ready task, or none. Never waits. Cost: one compare-and-swap; a scan of the board when there is nothing.
    std::optional<Claim> claim() const;

    /// Publishes the claimed task as done or failed. False when the claim was withdrawn in the meantime.
    bool finish(const Claim& claim, TaskPhase phase) const;

private:
    const ControlBlock& block_;
    std::uint32_t worker_;
};

/// What became of one published task.
struct TaskOutcome {
    TaskPhase phase = TaskPhase::Idle;  // Done, Failed, or what it was when the wait ended
    std::uint32_t worker = 0;
    std::optional<ClientFailure> failure;
};

/// Coordinator's side.
class RoundBarrier {
public:
    /// Tells how a worker process that the watcher found dead has ended.
    using Autopsy = std::function<ClientFailure(std::size_t worker)>;

    /// `deadline_s` is what one client, or one evaluated chunk, may take.
    RoundBarrier(const ControlBlock& block, Watcher& watcher, double deadline_s, Autopsy autopsy);

    /// Puts the tasks on the board, replacing the ones before, and rings every worker. tasks.size() <= max_tasks.
    void publish(std::span<const Task> tasks);

    /// Waits until `quorum` of the published tasks are finished (failed ones count: a dead worker may not cost a whole deadline), or a worker
    /// is found dead, broken, or past the deadline. Returns one outcome per task; a failure without a task (a worker that died while
    /// starting or waiting) is in `worker_failures()`. Throws Interrupted.
    std::vector<TaskOutcome> wait(std::size_t quorum);

    /// As wait() for all tasks, but runs them here, in the coordinator, one after the other.
    std::vector<TaskOutcome> run_here(const std::function<void(std::size_t task_index)>& run);

    const std::vector<ClientFailure>& worker_failures() const { return worker_failures_; }

private:
    std::vector<TaskOutcome> collect();
    TaskOutcome outcome_of(std::size_t index) const;
    std::optional<ClientFailure> failure_of(std::size_t index, const TaskState& state) const;
    void find_dead_workers();
    void find_hung_workers(const std::vector<TaskOutcome>& outcomes);
    std::int64_t task_deadline_ns(std::size_t index) const;
    std::int64_t next_deadline_ns(const std::vector<TaskOutcome>& outcomes) const;
    std::int64_t answer_due_ns(std::size_t worker, const std::vector<TaskOutcome>& outcomes) const;

    const ControlBlock& block_;
    Watcher& watcher_;
    std::int64_t deadline_ns_;
    Autopsy autopsy_;
    std::uint32_t ticket_ = 0;
    std::size_t num_tasks_ = 0;
    std::int64_t published_ns_ = 0;
    std::vector<std::int64_t> silent_since_ns_;  // per worker: the oldest publication it has not looked at
    std::vector<ClientFailure> worker_failures_;
};

}  // namespace fedhive::clients
