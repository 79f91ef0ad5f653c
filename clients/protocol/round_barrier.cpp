#include "clients/protocol/round_barrier.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <limits>

namespace fedhive::clients {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::optional<Claim> TaskBoard::claim() const {
    ControlBlock::Header& header = block_.header();
    block_.worker(worker_).seen.store(header.ticket.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const std::uint32_t num_tasks = std::min(header.num_tasks.load(std::memory_order_acquire), block_.geometry().max_tasks);
    const std::uint32_t start = header.cursor.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < num_tasks; ++i) {
        const std::uint32_t index = (start + i) % num_tasks;
        TaskCell& cell = block_.task(index);
        std::uint64_t word = cell.state.load(std::memory_order_relaxed);
        TaskState state = TaskState::unpack(word);
        if (state.phase != TaskPhase::Ready) continue;
        state.phase = TaskPhase::Claimed;
        state.worker = worker_;
        // The start is stamped first: a claim without a start would have no deadline.
        cell.started_ns.store(now_ns(), std::memory_order_relaxed);
        if (cell.state.compare_exchange_strong(word, state.pack(), std::memory_order_acq_rel)) {
            header.cursor.store(index + 1, std::memory_order_relaxed);
            return Claim{index, state.pack()};
        }
    }
    return std::nullopt;
}

bool TaskBoard::finish(const Claim& claim, TaskPhase phase) const {
    TaskState state = TaskState::unpack(claim.state_word);
    state.phase = phase;
    std::uint64_t expected = claim.state_word;
    if (!block_.task(claim.task_index).state.compare_exchange_strong(expected, state.pack(), std::memory_order_acq_rel))
        return false;
    ControlBlock::Header& header = block_.header();
    const std::uint32_t finished = header.finished.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (finished >= header.wake_at.load(std::memory_order_acquire)) header.coordinator_bell.post();
    return true;
}

RoundBarrier::RoundBarrier(const ControlBlock& block, Watcher& watcher, double deadline_s, Autopsy autopsy)
    : block_(block),
      watcher_(watcher),
      deadline_ns_(static_cast<std::int64_t>(deadline_s * 1e9)),
      autopsy_(std::move(autopsy)),
      silent_since_ns_(block.geometry().num_workers, 0) {}

void RoundBarrier::publish(std::span<const Task> tasks) {
    ControlBlock::Header& header = block_.header();
    FEDHIVE_CHECK(tasks.size() <= block_.geometry().max_tasks, "{} tasks, room for {}", tasks.size(),
                  block_.geometry().max_tasks);
    for (std::size_t w = 0; w < silent_since_ns_.size(); ++w)
        if (block_.worker(w).seen.load(std::memory_order_relaxed) == ticket_) silent_since_ns_[w] = now_ns();
    ++ticket_;
    num_tasks_ = tasks.size();
    header.finished.store(0, std::memory_order_relaxed);
    header.wake_at.store(static_cast<std::uint32_t>(tasks.size()), std::memory_order_relaxed);
    header.cursor.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        TaskCell& cell = block_.task(i);
        cell.task = tasks[i];
        cell.members_done.store(0, std::memory_order_relaxed);
        cell.state.store(TaskState{ticket_, 0, TaskPhase::Ready}.pack(), std::memory_order_release);
    }
    published_ns_ = now_ns();
    header.num_tasks.store(static_cast<std::uint32_t>(tasks.size()), std::memory_order_release);
    header.ticket.store(ticket_, std::memory_order_release);
    for (std::size_t w = 0; w < block_.geometry().num_workers; ++w) block_.worker(w).door_bell.post();
}

std::vector<TaskOutcome> RoundBarrier::wait(std::size_t quorum) {
    ControlBlock::Header& header = block_.header();
    header.wake_at.store(static_cast<std::uint32_t>(quorum), std::memory_order_release);
    for (;;) {
        if (watcher_.interrupt() != 0) throw Interrupted(watcher_.interrupt());
        find_dead_workers();
        std::vector<TaskOutcome> outcomes = collect();
        const auto finished =
            static_cast<std::size_t>(std::count_if(outcomes.begin(), outcomes.end(), [](const TaskOutcome& outcome) {
                return outcome.failure || outcome.phase == TaskPhase::Done || outcome.phase == TaskPhase::Failed;
            }));
        if (finished >= quorum) return outcomes;
        find_hung_workers(outcomes);
        if (!worker_failures_.empty()) return outcomes;
        watcher_.arm(next_deadline_ns(outcomes));
        wait_for(header.coordinator_bell);
    }
}

std::vector<TaskOutcome> RoundBarrier::run_here(const std::function<void(std::size_t)>& run) {
    for (std::size_t i = 0; i < num_tasks_; ++i) {
        if (watcher_.interrupt() != 0) throw Interrupted(watcher_.interrupt());
        run(i);
    }
    return collect();
}

std::vector<TaskOutcome> RoundBarrier::collect() {
    std::vector<TaskOutcome> outcomes(num_tasks_);
    for (std::size_t i = 0; i < num_tasks_; ++i) outcomes[i] = outcome_of(i);
    return outcomes;
}

TaskOutcome RoundBarrier::outcome_of(std::size_t index) const {
    const TaskState state = TaskState::unpack(block_.task(index).state.load(std::memory_order_acquire));
    return {state.phase, state.worker, failure_of(index, state)};
}

std::optional<ClientFailure> RoundBarrier::failure_of(std::size_t index, const TaskState& state) const {
    if (state.phase != TaskPhase::Claimed && state.phase != TaskPhase::Failed) return std::nullopt;
    const TaskCell& cell = block_.task(index);
    ClientFailure failure;
    failure.worker = state.worker;
    failure.round = cell.task.round + std::int64_t{1};
    if (cell.task.kind == TaskKind::Train) {
        const std::uint64_t member =
            cell.task.first + std::min(cell.members_done.load(std::memory_order_relaxed), cell.task.count - 1);
        failure.client_id = block_.members()[member].client_id;
    }
    if (state.phase == TaskPhase::Failed) {
        failure.kind = FailureKind::Exception;
        failure.message = cell.error.get();
        return failure;
    }
    const auto dead = std::find_if(worker_failures_.begin(), worker_failures_.end(),
                                   [&](const ClientFailure& one) { return one.worker == state.worker; });
    if (dead != worker_failures_.end()) {
        failure.kind = dead->kind;
        failure.message = dead->message;
        return failure;
    }
    const std::int64_t now = now_ns();
    if (now < task_deadline_ns(index)) return std::nullopt;
    failure.kind = FailureKind::Hung;
    failure.message = fmt::format("no result {:.1f} s after it began; failures.deadline_s is {} s per client",
                                  seconds_between(cell.started_ns.load(std::memory_order_relaxed), now),
                                  static_cast<double>(deadline_ns_) * 1e-9);
    return failure;
}

void RoundBarrier::find_dead_workers() {
    for (std::size_t w = 0; w < block_.geometry().num_workers; ++w) {
        const bool known = std::any_of(worker_failures_.begin(), worker_failures_.end(),
                                       [&](const ClientFailure& one) { return one.worker == static_cast<std::int64_t>(w); });
        if (known || !watcher_.dead(w)) continue;
        ClientFailure failure = autopsy_(w);
        const WorkerCell& cell = block_.worker(w);
        if (cell.state.load(std::memory_order_acquire) == WorkerState::Broken) failure.message = cell.error.get();
        worker_failures_.push_back(failure);
    }
}

std::int64_t RoundBarrier::answer_due_ns(std::size_t worker, const std::vector<TaskOutcome>& outcomes) const {
    bool work_is_left = false;
    std::int64_t last_sign_ns = published_ns_;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].phase == TaskPhase::Claimed && outcomes[i].worker == worker)
            return kNever;  // the task has its own deadline
        work_is_left = work_is_left || outcomes[i].phase == TaskPhase::Ready;
        if (outcomes[i].phase == TaskPhase::Done) last_sign_ns = std::max(last_sign_ns, block_.task(i).finished_ns);
    }
    if (block_.worker(worker).seen.load(std::memory_order_relaxed) != ticket_) return silent_since_ns_[worker] + deadline_ns_;
    // It has looked, and left work behind: stopped between the look and the claim.
    return work_is_left ? last_sign_ns + deadline_ns_ : kNever;
}

void RoundBarrier::find_hung_workers(const std::vector<TaskOutcome>& outcomes) {
    for (const TaskOutcome& outcome : outcomes)
        if (outcome.failure && outcome.failure->kind == FailureKind::Hung) worker_failures_.push_back(*outcome.failure);
    const std::int64_t now = now_ns();
    for (std::size_t w = 0; w < silent_since_ns_.size(); ++w) {
        if (now < answer_due_ns(w, outcomes)) continue;
        ClientFailure failure;
        failure.kind = FailureKind::Hung;
        failure.worker = static_cast<std::int64_t>(w);
        failure.message = fmt::format("{}, has not answered its bell for {:.1f} s",
                                      to_string(block_.worker(w).state.load(std::memory_order_relaxed)),
                                      seconds_between(std::min(silent_since_ns_[w], published_ns_), now));
        worker_failures_.push_back(failure);
    }
}

std::int64_t RoundBarrier::task_deadline_ns(std::size_t index) const {
    const TaskCell& cell = block_.task(index);
    const auto clients = static_cast<std::int64_t>(cell.task.kind == TaskKind::Train ? cell.task.count : 1);
    return cell.started_ns.load(std::memory_order_relaxed) + deadline_ns_ * clients;
}

std::int64_t RoundBarrier::next_deadline_ns(const std::vector<TaskOutcome>& outcomes) const {
    std::int64_t next = now_ns() + deadline_ns_;  // nobody who begins from now on is due before
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        if (outcomes[i].phase == TaskPhase::Claimed) next = std::min(next, task_deadline_ns(i));
    for (std::size_t w = 0; w < silent_since_ns_.size(); ++w) next = std::min(next, answer_due_ns(w, outcomes));
    // A deadline that passes between two looks is due at once, not in the past (which would disarm the timer).
    return std::max(next, now_ns() + 1'000'000);
}

}  // namespace fedhive::clients
