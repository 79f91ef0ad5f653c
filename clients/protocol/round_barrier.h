// Handing out tasks and waiting for them: the coordinator's and the worker's side of one board. The state words in the control block are the
// truth; semaphores only say "look again".
//
//   coordinator                                   worker w
//   publish(tasks): cells → Ready, ring all       wait for my door-bell
//   wait(quorum): until enough are done           claim: Ready → Claimed(w)          compare-and-swap: one winner
//                 or something has failed         run, write results
//   failed task: cell → Idle, told to the caller, finish: Claimed(w) → Done | Failed;  rings the coordinator at wake_at, or at once
//   who publishes it again or lets it be          where the task has failed
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

/// Something went wrong with a task, a worker, or both.
struct FoundFailure {
    ClientFailure failure;
    std::optional<std::size_t> task_index;  // that is Idle now: to be published again, or given up
    bool worker_lost = false;               // its process is dead: to be replaced, or given up
};

/// What the barrier needs to know of processes.
struct WorkerControl {
    std::function<ClientFailure(std::size_t worker)> autopsy;  // how a process found dead has ended
    std::function<void(std::size_t worker)> kill;              // returns when it is dead
};

/// Coordinator's side.
class RoundBarrier {
public:
    /// `answer_s` is how long a worker without a task may leave its bell unanswered.
    RoundBarrier(const ControlBlock& block, Watcher& watcher, double answer_s, WorkerControl workers);

    /// Puts the tasks on the board, replacing the ones before, and rings every worker. tasks.size() <= max_tasks.
    void publish(std::span<const Task> tasks);

    /// Puts one task that is Idle back on the board.
    void publish_again(std::size_t task_index, const Task& task);

    /// Waits until `quorum` of the published tasks are done, or something has failed: then at least one failure is returned, each once. A hung
    /// worker has been killed by then. Throws Interrupted, `grace_s` after a first signal or at once after a second.
    std::vector<FoundFailure> wait(std::size_t quorum, double grace_s = 0.0);

    /// As wait() for all tasks, but runs what is ready here, in the coordinator: `run_one` claims and runs a task, false when there is none.
    std::vector<FoundFailure> run_here(const std::function<bool()>& run_one, double grace_s = 0.0);

    /// The published tasks that are done.
    std::size_t num_done() const;
    bool done(std::size_t task_index) const { return state_of(task_index).phase == TaskPhase::Done; }
    std::uint32_t worker_of(std::size_t task_index) const { return state_of(task_index).worker; }

    /// A lost worker has a new process from now on.
    void worker_replaced(std::size_t worker);

    /// Ends a worker for good. Returns the task it had claimed, which is Idle now.
    std::optional<std::size_t> retire(std::size_t worker);

private:
    enum class Presence { Expected, Lost, Retired };
    struct Expectation {
        Presence presence = Presence::Expected;
        std::int64_t silent_since_ns = 0;  // the oldest publication it has not looked at
    };
    /// What the state words say, read once.
    struct Board {
        std::vector<std::optional<std::size_t>> held;  // per worker: the task it has claimed
        std::vector<std::size_t> failed;
        std::size_t done = 0;
        bool ready = false;  // somebody could claim something
    };

    TaskState state_of(std::size_t index) const;
    Board look() const;
    void ring_all();
    void find_dead_workers(std::vector<FoundFailure>& found);
    void find_overdue_workers(const Board& board, std::vector<FoundFailure>& found);
    FoundFailure lose(std::size_t worker, ClientFailure failure);
    std::optional<std::size_t> take_back_task_of(std::size_t worker);
    FoundFailure take_failed_task(std::size_t index);
    void blame(ClientFailure& failure, std::size_t task_index) const;
    std::int64_t left_ns(std::size_t worker, const Board& board) const;
    ClientFailure overdue(std::size_t worker, const Board& board) const;
    std::int64_t next_deadline_ns(const Board& board, double grace_s) const;

    const ControlBlock& block_;
    Watcher& watcher_;
    std::int64_t answer_ns_;
    WorkerControl workers_;
    std::uint32_t ticket_ = 0;
    std::size_t num_tasks_ = 0;
    std::int64_t published_ns_ = 0;
    std::vector<Expectation> expected_;
};

}  // namespace fedhive::clients
