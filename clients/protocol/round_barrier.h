// Handing out tasks and waiting for them: the coordinator's and the worker's side of one board. The state words in the control block are the
// truth; semaphores only say "look again".
//
//   coordinator                                   worker w
//   put(cell, task): → Ready; ring()              wait for my door-bell
//   wait(cells, quorum): until so many are done   claim: Ready → Claimed(w)          compare-and-swap: one winner
//                 or something has failed         run, write results
//   failed task: cell → Idle, told to the caller, finish: Claimed(w) → Done | Failed;  rings the coordinator at wake_at, or at once
//   who puts it back or lets it be                where the task has failed
//   withdraw(cells), wait_until_let_go(cells)     finish: Claimed(w) → Idle            within one local step
//
// A cell keeps its task until another one is put there, so that clients can be on their way over many rounds.
//
// The idea of epoch words as truth and semaphores as hint: process-shared barriers count a participant killed while waiting as arrived, and
// hang for one killed before; here a dead worker can be counted never, and a stale ring is harmless.
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

/// Worker's side. Process: any worker; also the coordinator itself when it trains without workers.
class TaskBoard {
public:
    TaskBoard(const ControlBlock& block, std::uint32_t worker) : block_(block), worker_(worker) {}

    /// Takes the next Ready task of the queue, or none. Never waits. Cost: one compare-and-swap; a scan of the queue when there is nothing.
    std::optional<Claim> claim() const;

    /// Publishes the claimed task as done or failed, or lets go of it (Idle). False when the claim was withdrawn in the meantime.
    bool finish(const Claim& claim, TaskPhase phase) const;

private:
    const ControlBlock& block_;
    std::uint32_t worker_;
};

/// Something went wrong with a task, a worker, or both.
struct FoundFailure {
    ClientFailure failure;
    std::optional<std::size_t> cell;            // whose task is Idle now: to be put back, or given up
    bool worker_lost = false;                   // its process is dead: to be replaced, or given up
    std::optional<std::size_t> missing_rank{};  // its task has waited in vain for that rank of its group
};

/// What the barrier needs to know of processes.
struct WorkerControl {
    std::function<ClientFailure(std::size_t worker)> autopsy;  // how a process found dead has ended
    std::function<void(std::size_t worker)> kill;              // returns when it is dead
};

/// Coordinator's side.
class RoundBarrier {
public:
    /// Loading LibTorch from a cold disk, creating a CUDA context beside fifteen others.
    static constexpr double kStart_s = 60.0;

    /// `answer_s` is how long a worker without a task may leave its bell unanswered; one that has not got ready yet, `start_s` at least.
    RoundBarrier(const ControlBlock& block, Watcher& watcher, double answer_s, WorkerControl workers,
                 double start_s = kStart_s);

    /// Puts a task on the board, at a place that nobody is working on; ring() queues it.
    void put(std::size_t cell, const Task& task, double due = 0.0);

    /// Queues what is Ready, the smallest `due` first, of several what was put first; tells every worker that there is something new. Cost: grows
    /// with what is Ready or was put since, not with the board.
    void ring();

    /// Waits until `quorum` of these cells are done, or something has failed anywhere on the board: then at least one failure is returned,
    /// each once. A hung worker has been killed by then. Throws Interrupted, `grace_s` after a first signal or at once after a second.
    std::vector<FoundFailure> wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s = 0.0);

    /// As wait(), but runs what is ready here, in the coordinator: `run_one` claims and runs a task, false when there is none.
    std::vector<FoundFailure> run_here(std::span<const std::size_t> cells, std::size_t quorum,
                                       const std::function<bool()>& run_one, double grace_s = 0.0);

    /// Nobody wants the results of these cells any more: who has claimed one lets go of it after its local step.
    void withdraw(std::span<const std::size_t> cells);

    /// Waits until no worker writes for these cells any more; as wait() otherwise.
    std::vector<FoundFailure> wait_until_let_go(std::span<const std::size_t> cells);

    bool done(std::size_t cell) const { return state_of(cell).phase == TaskPhase::Done; }
    std::uint32_t worker_of(std::size_t cell) const { return state_of(cell).worker; }

    /// Lost, and not replaced yet.
    bool lost(std::size_t worker) const { return expected_[worker].presence == Presence::Lost; }

    /// A lost worker has a new process from now on.
    void worker_replaced(std::size_t worker);

    /// Ends a worker through no fault of its own; it is lost. Returns the task it had claimed, which is Idle now.
    std::optional<std::size_t> recall(std::size_t worker);

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
        std::vector<std::optional<std::size_t>> held;  // per worker: the cell it has claimed
        std::vector<std::size_t> failed;
        std::optional<double> ready_s;  // somebody could claim something; the shortest deadline of it
    };
    /// When a Ready task is to be claimed: nobody is passed over for ever by others that are put later and due at the same time.
    struct Turn {
        double due = 0.0;
        std::uint64_t put = 0;
        bool operator<(const Turn& other) const { return due < other.due || (due == other.due && put < other.put); }
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
    std::size_t num_cells_ = 0;       // that were ever used
    std::vector<std::size_t> queue_;  // cells that were Ready at the last ring, or were put since
    std::vector<Turn> turns_;         // by cell
    std::uint64_t puts_ = 0;
    std::int64_t published_ns_ = 0;
    std::uint32_t last_round_ = 0;  // of a task that was put
    std::vector<Expectation> expected_;
    Board board_;  // as of the last look
};

}  // namespace fedhive::clients
