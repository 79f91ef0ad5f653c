// The control block: one anonymous shared segment through which the coordinator hands out tasks and workers report results.
//
//   [ Header | plan bytes | WorkerCell 0 … W-1 | TaskCell 0 … T-1 | queue 0 … T-1 | RankCell 0 … R-1 | Member 0 … M-1 |
//     ClientResult 0 … M-1 | evaluated clients 0 … E-1 | Term 0 … U-1 | groups of terms [V] | sums of tasks [T][S] |
//     sums of clients [E][S'] | losses [L] ]
//
//   Field                         Who writes it
//   Header.ticket, num_tasks, …   coordinator                  Header.cursor, finished   all processes (hints, never the truth)
//   queue                         coordinator
//   plan                          coordinator, before workers  WorkerCell                its worker, except the door-bell
//   TaskCell.task, Member, Term,  coordinator, while the cell is Idle, Done or Failed
//   evaluated clients, groups
//   TaskCell.state                coordinator → Ready | Idle; worker Ready → Claimed → Done | Failed | Idle (CAS)
//   TaskCell.withdrawn            coordinator
//   the rest of TaskCell,         the worker that holds the claim
//   ClientResult of its members,
//   its sums, those of its clients,
//   its losses
//   RankCell                      see rank_group.h; reset by the coordinator while no rank is at work
//
// There is no lock: a process killed at any instruction leaves nothing held. A task's state word carries a ticket that grows
// with every publication, so that a worker that wakes up late can neither claim nor finish a task that is no longer its own.
#pragma once

#include "clients/protocol/failure.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/rank_group.h"
#include "clients/protocol/task.h"
#include "clients/protocol/worker_state.h"

#include <boost/interprocess/sync/interprocess_semaphore.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <span>

namespace fedhive::clients {

/// Waits on a Boost.Interprocess semaphore; resumes the wait when a signal interrupts it.
void wait_for(boost::interprocess::interprocess_semaphore& bell);

enum class TaskPhase : std::uint8_t { Idle, Ready, Claimed, Done, Failed };

/// A task's unpacked state word: 32 bits ticket, 24 bits worker, 8 bits phase.
struct TaskState {
    std::uint32_t ticket = 0;
    std::uint32_t worker = 0;
    TaskPhase phase = TaskPhase::Idle;

    std::uint64_t pack() const {
        return std::uint64_t{ticket} << 32 | std::uint64_t{worker} << 8 | static_cast<std::uint64_t>(phase);
    }
    static TaskState unpack(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word >> 8) & 0xFFFFFFU,
                static_cast<TaskPhase>(word & 0xFFU)};
    }
};

struct alignas(64) TaskCell {
    std::atomic<std::uint64_t> state{0};
    std::atomic<std::uint32_t> withdrawn{0};  // 1: the coordinator does not want the result; the worker lets go of the task
    Task task;
    std::atomic<std::int64_t> started_ns{0};  // start of the current member; the coordinator reads it for the deadline
    std::int64_t finished_ns = 0;
    std::atomic<std::uint64_t> members_done{0};    // the current member is task.first + members_done
    FailureKind failure = FailureKind::Exception;  // of a Failed task
    FixedText<512> error;                          // of a Failed task: the exception's text
    std::uint32_t missing_rank = 0;                // of a Failed task: 1 + the rank that it waited for in vain; 0: none
};

struct alignas(64) WorkerCell {
    std::atomic<WorkerState> state{WorkerState::Starting};
    std::atomic<std::uint32_t> seen{0};  // ticket of the last publication that this worker has read
    std::atomic<std::int64_t> heartbeat_ns{
        0};  // time of the last sign of life: a look at the board, a local step, a task's end
    boost::interprocess::interprocess_semaphore door_bell{0};  // a hint to look at the board
    FixedText<512> error;                                      // of a Broken worker: why it could not start
};

struct ControlGeometry {
    std::uint32_t num_workers = 1;      // W
    std::uint32_t max_tasks = 1;        // T
    std::uint64_t max_members = 1;      // M: the largest cohort
    std::uint32_t num_ranks = 0;        // R: of all groups of ranks
    std::uint32_t max_terms = 0;        // U: updates of an aggregate that workers compute
    std::uint64_t max_groups = 0;       // V: numbers that describe groups of terms
    std::uint64_t num_evaluated = 0;    // E: clients evaluated on their own examples
    std::uint64_t num_sums = 0;         // S: sums of an evaluation of test examples
    std::uint64_t num_client_sums = 0;  // S': sums of an evaluation of one client's examples
    std::uint64_t num_losses = 0;       // L: losses of each update on the examples of each update's client
};

/// A mapped control block: the coordinator maps its own segment, a worker the inherited one.
class ControlBlock {
public:
    /// Coordinator: builds the block inside a new segment. Throws Fault when there is no memory.
    static ControlBlock create(const ControlGeometry& geometry);

    /// Worker: maps the block of an inherited descriptor. Throws Fault if the segment is not a control block of this version,
    /// or if its size does not match its geometry.
    static ControlBlock open(int descriptor);

    int descriptor() const { return descriptor_; }
    const ControlGeometry& geometry() const;
    WorkerCell& worker(std::size_t index) const;
    TaskCell& task(std::size_t index) const;
    std::size_t index_of(const TaskCell& cell) const { return static_cast<std::size_t>(&cell - &task(0)); }
    std::span<std::atomic<std::uint32_t>> queue() const;
    std::span<RankCell> ranks() const;
    std::span<Member> members() const;
    std::span<ClientResult> results() const;
    std::span<std::uint32_t> evaluated() const;  // ids of clients
    std::span<double> sums(std::size_t task) const;
    std::span<double> client_sums(std::size_t evaluated) const;
    std::span<double> losses() const;  // for K updates: at i K + j the loss of update j on the examples of update i's client
    std::span<Term> terms() const;
    std::span<std::uint32_t> groups() const;  // of each group of terms: its size, then their indices

    /// The plan of the run: plain data that the coordinator stores before it spawns workers. At most kPlanBytes.
    static constexpr std::size_t kPlanBytes = 24576;
    template <typename Plan>
    void set_plan(const Plan& plan) const {
        static_assert(std::is_trivially_copyable_v<Plan> && sizeof(Plan) <= kPlanBytes);
        std::memcpy(plan_bytes(), &plan, sizeof plan);
    }
    template <typename Plan>
    Plan plan() const {
        static_assert(std::is_trivially_copyable_v<Plan> && sizeof(Plan) <= kPlanBytes);
        Plan plan;
        std::memcpy(&plan, plan_bytes(), sizeof plan);
        return plan;
    }

    struct Header;
    Header& header() const;

    /// Asks all workers to stop, and wakes them.
    void shut_down() const;

    /// Resets a worker's cell for a replacement process. Coordinator only, while no process uses the cell.
    void renew_worker(std::size_t index) const;

private:
    /// Byte offsets of the block's parts; they depend on the geometry alone.
    struct Map {
        explicit Map(const ControlGeometry& geometry);
        std::size_t plan, workers, tasks, queue, ranks, members, results, evaluated, terms, groups, sums, client_sums, losses,
            total;
    };
    ControlBlock(std::shared_ptr<void> segment, std::byte* base, int descriptor, const Map& map)
        : segment_(std::move(segment)), base_(base), descriptor_(descriptor), map_(map) {}
    std::byte* plan_bytes() const;

    std::shared_ptr<void> segment_;  // owns the mapping: the coordinator's segment, or a worker's view of it
    std::byte* base_;
    int descriptor_;
    Map map_;
};

struct ControlBlock::Header {
    std::uint64_t magic = 0;  // written last by create()
    ControlGeometry geometry;
    std::atomic<std::uint32_t> shutdown{0};
    std::atomic<std::uint32_t> ticket{0};              // of the last publication
    std::atomic<std::uint32_t> num_tasks{0};           // number of cells that were ever used
    std::atomic<std::uint32_t> queued{0};              // length of the queue, which lists cells in the order of claiming
    alignas(64) std::atomic<std::uint32_t> cursor{0};  // queue index at which the search for a Ready task begins
    alignas(64) std::atomic<std::uint32_t> finished{
        0};                                 // tasks finished or let go of, modulo 2^32, counted after the state word is set
    std::atomic<std::uint32_t> wake_at{0};  // the value of `finished` from which on the coordinator's bell rings
    alignas(64) boost::interprocess::interprocess_semaphore coordinator_bell{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<WorkerState>::is_always_lock_free);

}  // namespace fedhive::clients
