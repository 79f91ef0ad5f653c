#include "clients/protocol/round_barrier.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <limits>

namespace fedhive::clients {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kForever_s = std::numeric_limits<double>::infinity();

/// A heartbeat younger than this is a sign of life.
constexpr std::int64_t kAliveNs = kSecond;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace

std::optional<Claim> TaskBoard::claim() const {
    ControlBlock::Header& header = block_.header();
    WorkerCell& self = block_.worker(worker_);
    self.heartbeat_ns.store(recent_ns(), std::memory_order_relaxed);
    self.seen.store(header.ticket.load(std::memory_order_acquire), std::memory_order_relaxed);
    const auto queue = block_.queue();
    const std::uint32_t queued = std::min(header.queued.load(std::memory_order_acquire), block_.geometry().max_tasks);
    const std::uint32_t start = header.cursor.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < queued; ++i) {
        const std::uint32_t place = (start + i) % queued;
        const std::uint32_t index = queue[place].load(std::memory_order_relaxed);
        TaskCell& cell = block_.task(index);
        std::uint64_t word = cell.state.load(std::memory_order_relaxed);
        TaskState state = TaskState::unpack(word);
        if (state.phase != TaskPhase::Ready) continue;
        state.phase = TaskPhase::Claimed;
        state.worker = worker_;
        // The start is stamped before the claim: a claim without a start would have no deadline.
        cell.started_ns.store(now_ns(), std::memory_order_relaxed);
        if (!cell.state.compare_exchange_strong(word, state.pack(), std::memory_order_acq_rel))
            continue;  // another worker was faster
        header.cursor.store(place + 1, std::memory_order_relaxed);
        return Claim{index, state.pack()};
    }
    return std::nullopt;
}

bool TaskBoard::finish(const Claim& claim, TaskPhase phase) const {
    TaskState state = TaskState::unpack(claim.state_word);
    state.phase = phase;
    std::uint64_t expected = claim.state_word;
    block_.worker(worker_).heartbeat_ns.store(recent_ns(), std::memory_order_relaxed);
    // Sequentially consistent, like wait_until(): either it sees this task done, or this worker sees its wake_at.
    if (!block_.task(claim.task_index).state.compare_exchange_strong(expected, state.pack())) return false;
    ControlBlock::Header& header = block_.header();
    const std::uint32_t finished = header.finished.fetch_add(1) + 1;
    const bool enough = static_cast<std::int32_t>(finished - header.wake_at.load()) >= 0;  // both wrap around
    if (phase == TaskPhase::Failed || enough) header.coordinator_bell.post();
    return true;
}

RoundBarrier::RoundBarrier(const ControlBlock& block, Watcher& watcher, double answer_s, WorkerControl workers, double start_s)
    : block_(block),
      watcher_(watcher),
      answer_ns_(static_cast<std::int64_t>(answer_s * 1e9)),
      start_ns_(std::max(static_cast<std::int64_t>(start_s * 1e9), answer_ns_)),
      workers_(std::move(workers)),
      expected_(block.geometry().num_workers) {}

void RoundBarrier::put(std::size_t cell_index, const Task& task, double due) {
    const TaskPhase phase = state_of(cell_index).phase;
    FEDHIVE_CHECK(phase == TaskPhase::Idle || phase == TaskPhase::Done, "cell {} is still at work", cell_index);
    TaskCell& cell = block_.task(cell_index);
    cell.task = task;
    last_round_ = std::max(last_round_, task.round);
    cell.members_done.store(0, std::memory_order_relaxed);
    cell.missing_rank = 0;
    cell.withdrawn.store(0, std::memory_order_relaxed);
    cell.state.store(TaskState{ticket_ + 1, 0, TaskPhase::Ready}.pack(), std::memory_order_release);
    queue_.push_back(cell_index);
    turns_.resize(std::max(turns_.size(), cell_index + 1));
    turns_[cell_index] = {due, ++puts_};
    if (cell_index < num_cells_) return;
    num_cells_ = cell_index + 1;
    block_.header().num_tasks.store(static_cast<std::uint32_t>(num_cells_), std::memory_order_release);
}

/// A worker that reads the older queue meanwhile claims out of order, or misses a task and finds it when its bell rings.
void RoundBarrier::arrange() {
    std::erase_if(queue_, [this](std::size_t cell) { return state_of(cell).phase != TaskPhase::Ready; });
    std::sort(queue_.begin(), queue_.end(), [this](std::size_t a, std::size_t b) { return turns_[a] < turns_[b]; });
    queue_.erase(std::unique(queue_.begin(), queue_.end()), queue_.end());  // cells put, taken back and put again
    ControlBlock::Header& header = block_.header();
    for (std::size_t place = 0; place < queue_.size(); ++place)
        block_.queue()[place].store(static_cast<std::uint32_t>(queue_[place]), std::memory_order_relaxed);
    header.cursor.store(0, std::memory_order_relaxed);
    header.queued.store(static_cast<std::uint32_t>(queue_.size()), std::memory_order_release);
}

void RoundBarrier::ring() {
    arrange();
    published_ns_ = now_ns();
    for (std::size_t w = 0; w < expected_.size(); ++w)
        if (block_.worker(w).seen.load(std::memory_order_relaxed) == ticket_) expected_[w].silent_since_ns = published_ns_;
    block_.header().ticket.store(++ticket_, std::memory_order_release);
    for (std::size_t w = 0; w < expected_.size(); ++w)
        if (expected_[w].presence == Presence::Expected) block_.worker(w).door_bell.post();
}

std::vector<FoundFailure> RoundBarrier::wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s) {
    return wait_until(
        cells, quorum, [](TaskPhase phase) { return phase == TaskPhase::Done; }, grace_s);
}

std::vector<FoundFailure> RoundBarrier::wait_until_let_go(std::span<const std::size_t> cells) {
    return wait_until(
        cells, cells.size(), [](TaskPhase phase) { return phase != TaskPhase::Claimed; }, 0.0);
}

std::vector<FoundFailure> RoundBarrier::wait_until(std::span<const std::size_t> cells, std::size_t quorum, Settled settled,
                                                   double grace_s) {
    ControlBlock::Header& header = block_.header();
    for (std::size_t missing = quorum;;) {
        // The bell rings after `missing` more tasks have finished; fewer cannot suffice. A worker that
        // finishes after count() sees this value.
        header.wake_at.store(header.finished.load() + static_cast<std::uint32_t>(missing));
        if (watcher_.must_leave(grace_s)) throw Interrupted(watcher_.interrupt());
        std::vector<FoundFailure> found;
        find_dead_workers(found);
        look();
        find_failed_tasks(found);
        const std::size_t done = count(cells, settled);
        if (!found.empty() || done >= quorum) return found;
        if (quorum - done < missing) {
            missing = quorum - done;
            continue;
        }
        find_overdue_workers(found);
        if (!found.empty()) return found;
        watcher_.arm(next_deadline_ns(grace_s));
        wait_for(header.coordinator_bell);
    }
}

std::vector<FoundFailure> RoundBarrier::run_here(std::span<const std::size_t> cells, std::size_t quorum,
                                                 const std::function<bool()>& run_one, double grace_s) {
    std::vector<FoundFailure> found;
    while (found.empty() && count(cells, [](TaskPhase phase) { return phase == TaskPhase::Done; }) < quorum) {
        FEDHIVE_CHECK(run_one(), "{} of {} cells can be run", quorum, cells.size());
        if (watcher_.must_leave(grace_s)) throw Interrupted(watcher_.interrupt());
        look();
        find_failed_tasks(found);
    }
    return found;
}

void RoundBarrier::withdraw(std::span<const std::size_t> cells) {
    for (const std::size_t index : cells) {
        TaskCell& cell = block_.task(index);
        cell.withdrawn.store(1, std::memory_order_release);
        std::uint64_t word = cell.state.load();
        if (TaskState::unpack(word).phase == TaskPhase::Ready)
            cell.state.compare_exchange_strong(word, TaskState{ticket_, 0, TaskPhase::Idle}.pack());
    }
}

void RoundBarrier::worker_replaced(std::size_t worker) { expected_[worker] = {Presence::Expected, now_ns()}; }

std::optional<std::size_t> RoundBarrier::recall(std::size_t worker) {
    workers_.kill(worker);
    expected_[worker].presence = Presence::Lost;
    return take_back_task_of(worker);
}

std::optional<std::size_t> RoundBarrier::retire(std::size_t worker) {
    const auto task = recall(worker);
    expected_[worker].presence = Presence::Retired;
    return task;
}

TaskState RoundBarrier::state_of(std::size_t cell) const { return TaskState::unpack(block_.task(cell).state.load()); }

void RoundBarrier::look() {
    board_.held.assign(expected_.size(), std::nullopt);
    board_.failed.clear();
    board_.ready_s.reset();
    for (std::size_t i = 0; i < num_cells_; ++i) {
        const TaskState state = state_of(i);
        if (state.phase == TaskPhase::Ready)
            board_.ready_s = std::min(board_.ready_s.value_or(kForever_s), block_.task(i).task.deadline_s);
        if (state.phase == TaskPhase::Failed) board_.failed.push_back(i);
        if (state.phase == TaskPhase::Claimed && state.worker < board_.held.size()) board_.held[state.worker] = i;
    }
}

std::size_t RoundBarrier::count(std::span<const std::size_t> cells, Settled settled) const {
    return static_cast<std::size_t>(
        std::count_if(cells.begin(), cells.end(), [&](std::size_t cell) { return settled(state_of(cell).phase); }));
}

void RoundBarrier::find_failed_tasks(std::vector<FoundFailure>& found) {
    for (const std::size_t cell : board_.failed) found.push_back(take_failed_task(cell));
}

void RoundBarrier::find_dead_workers(std::vector<FoundFailure>& found) {
    for (std::size_t w = 0; w < expected_.size(); ++w) {
        if (expected_[w].presence != Presence::Expected || !watcher_.dead(w)) continue;
        ClientFailure failure = workers_.how_ended(w);
        const WorkerCell& cell = block_.worker(w);
        if (cell.state.load(std::memory_order_acquire) == WorkerState::Broken) failure.message = cell.error.get();
        found.push_back(lose(w, failure));
    }
}

void RoundBarrier::find_overdue_workers(std::vector<FoundFailure>& found) {
    for (std::size_t w = 0; w < expected_.size(); ++w) {
        if (left_ns(w) > 0) continue;
        const ClientFailure failure = overdue(w);
        workers_.kill(w);
        found.push_back(lose(w, failure));
    }
}

FoundFailure RoundBarrier::lose(std::size_t worker, ClientFailure failure) {
    expected_[worker].presence = Presence::Lost;
    failure.worker = static_cast<std::int64_t>(worker);
    if (num_cells_ > 0) failure.round = last_round_ + std::int64_t{1};
    const auto task = take_back_task_of(worker);
    if (task) blame(failure, *task);
    return {failure, task, true, std::nullopt};
}

std::optional<std::size_t> RoundBarrier::take_back_task_of(std::size_t worker) {
    look();
    const std::optional<std::size_t> task = board_.held[worker];
    if (task) block_.task(*task).state.store(TaskState{ticket_, 0, TaskPhase::Idle}.pack());
    return task;
}

FoundFailure RoundBarrier::take_failed_task(std::size_t cell_index) {
    TaskCell& cell = block_.task(cell_index);
    ClientFailure failure;
    failure.kind = static_cast<std::uint32_t>(cell.failure) < kNumFailureKinds ? cell.failure : FailureKind::Exception;
    failure.message = cell.error.get();
    const std::uint32_t worker = worker_of(cell_index);
    failure.worker = worker;
    blame(failure, cell_index);
    cell.state.store(TaskState{ticket_, 0, TaskPhase::Idle}.pack());
    // After a DeviceError, the process's CUDA context cannot be trusted.
    const bool lost = failure.kind == FailureKind::DeviceError && worker < expected_.size();
    if (lost) {
        workers_.kill(worker);
        expected_[worker].presence = Presence::Lost;
    }
    const auto missing = cell.missing_rank == 0 ? std::nullopt : std::optional<std::size_t>(cell.missing_rank - 1);
    return {failure, cell_index, lost, missing};
}

void RoundBarrier::blame(ClientFailure& failure, std::size_t cell_index) const {
    const TaskCell& cell = block_.task(cell_index);
    failure.round = cell.task.round + std::int64_t{1};
    if (!has_members(cell.task.kind)) return;
    const std::uint64_t member =
        cell.task.first + std::min(cell.members_done.load(std::memory_order_relaxed), cell.task.count - 1);
    failure.client_id = block_.members()[member].client_id;
}

std::int64_t RoundBarrier::left_ns(std::size_t worker) const {
    if (expected_[worker].presence != Presence::Expected) return kNever;
    const WorkerCell& cell = block_.worker(worker);
    if (const auto task = board_.held[worker]) {
        const TaskCell& claimed = block_.task(*task);
        return static_cast<std::int64_t>(claimed.task.deadline_s * 1e9) -
               watcher_.awake_ns_since(claimed.started_ns.load(std::memory_order_relaxed));
    }
    const std::int64_t heartbeat_ns = cell.heartbeat_ns.load(std::memory_order_relaxed);
    const bool starting = cell.state.load(std::memory_order_relaxed) == WorkerState::Starting;
    const std::int64_t patience_ns = starting ? start_ns_ : answer_ns_;
    if (cell.seen.load(std::memory_order_relaxed) != ticket_)
        return patience_ns - watcher_.awake_ns_since(std::max(expected_[worker].silent_since_ns, heartbeat_ns));
    // The worker has read the publication, but Ready tasks remain: it was stopped before its claim.
    return board_.ready_s ? patience_ns - watcher_.awake_ns_since(std::max(published_ns_, heartbeat_ns)) : kNever;
}

ClientFailure RoundBarrier::overdue(std::size_t worker) const {
    const WorkerCell& cell = block_.worker(worker);
    ClientFailure failure;
    failure.kind = FailureKind::Hung;
    if (const auto task = board_.held[worker]) {
        const TaskCell& claimed = block_.task(*task);
        if (watcher_.awake_ns_since(cell.heartbeat_ns.load(std::memory_order_relaxed)) < kAliveNs)
            failure.kind = FailureKind::Late;
        failure.message = fmt::format("no result {:.1f} s after its start; the limit is {:.1f} s (failures.deadline_s)",
                                      seconds(watcher_.awake_ns_since(claimed.started_ns.load(std::memory_order_relaxed))),
                                      claimed.task.deadline_s);
    } else if (cell.state.load(std::memory_order_relaxed) == WorkerState::Starting) {
        failure.message = fmt::format(
            "starting, was not ready after {:.1f} s, the limit for a starting worker (or failures.deadline_s, if that is "
            "longer); use fewer workers if the machine is busy",
            seconds(start_ns_));
    } else {
        failure.message =
            fmt::format("{}, has not answered for {:.1f} s", to_string(cell.state.load(std::memory_order_relaxed)),
                        seconds(watcher_.awake_ns_since(expected_[worker].silent_since_ns)));
    }
    return failure;
}

std::int64_t RoundBarrier::next_deadline_ns(double grace_s) const {
    std::int64_t left = answer_ns_;  // a worker that goes silent from now on is not due earlier
    if (board_.ready_s) left = std::min(left, static_cast<std::int64_t>(*board_.ready_s * 1e9));
    for (std::size_t w = 0; w < expected_.size(); ++w) left = std::min(left, left_ns(w));
    if (watcher_.interrupts() == 1)
        left = std::min(left, watcher_.interrupt_ns() + static_cast<std::int64_t>(grace_s * 1e9) - now_ns());
    // A deadline that has passed is due at once: a time in the past would disarm the timer.
    return now_ns() + std::max<std::int64_t>(left, 1'000'000);
}

}  // namespace fedhive::clients
