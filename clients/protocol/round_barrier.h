// The task board: the coordinator puts tasks there and waits for them, workers claim and finish them. The state words in the
// control block are the truth; semaphores are only hints to look again.
//
// A cell is the place of one task on the board. A bell is a semaphore on which one process sleeps: each worker has one (its door-bell), and
// so has the coordinator.
//
//   coordinator                                   worker w
//   put(cell, task): → Ready; ring()              wait for my door-bell
//   wait(cells, quorum): until `quorum` are done  claim: Ready → Claimed(w)            CAS: one winner
//                 or something has failed         run, write results
//   failed task: cell → Idle; the caller puts it  finish: Claimed(w) → Done | Failed;  rings the coordinator at wake_at,
//   back or gives it up                                                                or at once if the task failed
//   withdraw(cells), wait_until_let_go(cells)     finish: Claimed(w) → Idle            within one local step
//
// A cell keeps its task until another one is put there, so that a client may be in flight over many rounds.
//
// Why state words instead of a process-shared barrier: such a barrier counts a participant killed while waiting as arrived, and
// hangs for one killed before. Here a dead worker is never counted, and a stale ring is harmless.
#pragma once

#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/watcher.h"

#include <compare>
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

/// The worker's side. Process: any worker; also the coordinator when it trains without workers.
class TaskBoard {
public:
    TaskBoard(const ControlBlock& block, std::uint32_t worker) : block_(block), worker_(worker) {}

    /// Claims the next Ready task of the queue; empty if there is none. Never waits. Cost: one CAS;
    /// a scan of the queue if none is Ready.
    std::optional<Claim> claim() const;

    /// Publishes the claimed task as done or failed, or lets go of it (Idle). False if the coordinator has taken the task back.
    bool finish(const Claim& claim, TaskPhase phase) const;

private:
    const ControlBlock& block_;
    std::uint32_t worker_;
};

/// A failure of a task, a worker, or both.
struct FoundFailure {
    ClientFailure failure;
    std::optional<std::size_t> cell;            // the failed task's cell, now Idle: the caller puts it back or gives it up
    bool worker_lost = false;                   // the worker's process is dead: the caller replaces it or gives it up
    std::optional<std::size_t> missing_rank{};  // the rank of its group that the task waited for in vain
};

/// Callbacks through which the barrier controls worker processes.
struct WorkerControl {
    std::function<ClientFailure(std::size_t worker)> how_ended;  // returns how a dead process has ended
    std::function<void(std::size_t worker)> kill;                // returns when the process is dead
};

/// The coordinator's side.
class RoundBarrier {
public:
    /// Seconds that a worker may take to start: enough to load LibTorch from a slow disk and to create a CUDA context beside fifteen others.
    static constexpr double kStart_s = 60.0;

    /// answer_s: how long a worker without a task may leave its bell unanswered; a starting worker has max(start_s, answer_s).
    RoundBarrier(const ControlBlock& block, Watcher& watcher, double answer_s, WorkerControl workers,
                 double start_s = kStart_s);

    /// Puts a task into a cell that no worker is working on; ring() queues it.
    void put(std::size_t cell, const Task& task, double due = 0.0);

    /// Queues all Ready tasks, the smallest `due` first, equal ones in the order of put(), and rings every worker. Cost: grows
    /// with the number of tasks that are Ready or were put since the last ring(), not with the board.
    void ring();

    /// Waits until `quorum` of `cells` are done, or anything on the board has failed. Returns the failures, each once; empty if
    /// none. A hung worker has been killed by then. Throws Interrupted `grace_s` after a
    /// first signal, or at once after a second.
    std::vector<FoundFailure> wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s = 0.0);

    /// Like wait(), but runs Ready tasks in the coordinator: `run_one` claims and runs a task; false if there is none.
    std::vector<FoundFailure> run_here(std::span<const std::size_t> cells, std::size_t quorum,
                                       const std::function<bool()>& run_one, double grace_s = 0.0);

    /// Discards the tasks of `cells`: a worker that has claimed one lets go of it after its local step.
    void withdraw(std::span<const std::size_t> cells);

    /// Waits until no worker writes for `cells` any more; otherwise like wait().
    std::vector<FoundFailure> wait_until_let_go(std::span<const std::size_t> cells);

    bool done(std::size_t cell) const { return state_of(cell).phase == TaskPhase::Done; }
    std::uint32_t worker_of(std::size_t cell) const { return state_of(cell).worker; }

    /// Whether the worker is lost and not replaced yet.
    bool lost(std::size_t worker) const { return expected_[worker].presence == Presence::Lost; }

    /// Tells the barrier that a lost worker has a new process.
    void worker_replaced(std::size_t worker);

    /// Kills a worker that has not failed; it counts as lost. Returns the cell of the task it had claimed, which is Idle now.
    std::optional<std::size_t> recall(std::size_t worker);

    /// Kills a worker without replacement. Returns the cell of the task it had claimed, which is Idle now.
    std::optional<std::size_t> retire(std::size_t worker);

private:
    enum class Presence { Expected, Lost, Retired };
    struct Expectation {
        Presence presence = Presence::Expected;
        std::int64_t silent_since_ns = 0;  // time of the oldest publication that it has not read
    };
    /// The state words of all cells, read once.
    struct CellStates {
        std::vector<std::optional<std::size_t>> held;  // per worker: the cell it has claimed
        std::vector<std::size_t> failed;
        std::optional<double> ready_s;  // the shortest deadline of the Ready tasks; empty if none is Ready
    };
    /// A Ready task's place in the order of claiming: by `due`, then by put(), so that later
    /// tasks of equal `due` cannot starve it.
    struct ClaimOrder {
        double due = 0.0;
        std::uint64_t put = 0;
        bool operator<(const ClaimOrder& other) const { return due < other.due || (due == other.due && put < other.put); }
    };
    using Settled = bool (*)(TaskPhase phase);

    TaskState state_of(std::size_t cell) const;
    void arrange();
    void look();
    std::size_t count(std::span<const std::size_t> cells, Settled settled) const;
    std::vector<FoundFailure> wait_until(std::span<const std::size_t> cells, std::size_t quorum, Settled settled,
                                         double grace_s);
    void find_dead_workers(std::vector<FoundFailure>& found);
    void find_failed_tasks(std::vector<FoundFailure>& found);
    void find_overdue_workers(std::vector<FoundFailure>& found);
    FoundFailure lose(std::size_t worker, ClientFailure failure);
    std::optional<std::size_t> take_back_task_of(std::size_t worker);
    FoundFailure take_failed_task(std::size_t cell);
    void blame(ClientFailure& failure, std::size_t cell) const;
    std::int64_t left_ns(std::size_t worker) const;
    ClientFailure overdue(std::size_t worker) const;
    std::int64_t next_deadline_ns(double grace_s) const;

    const ControlBlock& block_;
    Watcher& watcher_;
    std::int64_t answer_ns_;
    std::int64_t start_ns_;
    WorkerControl workers_;
    std::uint32_t ticket_ = 0;
    std::size_t num_cells_ = 0;       // cells that were ever used
    std::vector<std::size_t> queue_;  // cells that were Ready at the last ring, or were put since
    std::vector<ClaimOrder> turns_;   // by cell
    std::uint64_t puts_ = 0;
    std::int64_t published_ns_ = 0;
    std::uint32_t last_round_ = 0;  // latest round of a task that was put
    std::vector<Expectation> expected_;
    CellStates board_;  // as of the last look()
};

}  // namespace fedhive::clients
