// The protocol with workers as threads over one mapping: the thread sanitizer sees races within a mapping only.
#pragma once

#include "clients/protocol/round_barrier.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

namespace fedhive::clients::testing {

inline std::vector<Task> tasks_of_round(std::uint32_t round, std::size_t count, double deadline_s = 60.0) {
    std::vector<Task> tasks(count);
    for (std::size_t i = 0; i < count; ++i) {
        tasks[i].kind = TaskKind::Train;
        tasks[i].round = round;
        tasks[i].first = i;
        tasks[i].count = 1;
        tasks[i].deadline_s = deadline_s;
    }
    return tasks;
}

/// The first `count` cells of the board.
inline std::vector<std::size_t> cells(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// Puts the tasks into the first cells and rings.
inline void publish(RoundBarrier& barrier, const std::vector<Task>& tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) barrier.put(i, tasks[i]);
    barrier.ring();
}

inline void publish_again(RoundBarrier& barrier, std::size_t cell, const Task& task) {
    barrier.put(cell, task);
    barrier.ring();
}

inline std::size_t num_done(const RoundBarrier& barrier, std::size_t count) {
    const auto all = cells(count);
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](std::size_t cell) { return barrier.done(cell); }));
}

/// Threads cannot be killed: a lost worker continues, and must find its claim withdrawn.
inline WorkerControl no_processes() {
    return {[](std::size_t worker) {
                ClientFailure failure;
                failure.worker = static_cast<std::int64_t>(worker);
                return failure;
            },
            [](std::size_t) {}};
}

/// Coordinator and W worker threads; the test gives the tasks' work.
class ThreadedRun {
public:
    using Work = std::function<TaskPhase(std::uint32_t worker, TaskCell& cell)>;

    ThreadedRun(std::uint32_t workers, std::uint32_t max_tasks, double deadline_s, Work work)
        : block_(ControlBlock::create({workers, max_tasks, std::max(1U, max_tasks)})),
          watcher_([this] { block_.header().coordinator_bell.post(); }),
          barrier(block_, watcher_, deadline_s, no_processes()),
          deadline_s_(deadline_s),
          work_(std::move(work)) {
        for (std::uint32_t w = 0; w < workers; ++w) {
            block_.worker(w).state.store(WorkerState::Waiting);
            threads_.emplace_back([this, w] { worker_loop(w); });
        }
    }
    ~ThreadedRun() {
        block_.shut_down();
        for (std::thread& thread : threads_) thread.join();
    }

    const ControlBlock& block() const { return block_; }
    void publish(std::uint32_t round, std::size_t count) {
        testing::publish(barrier, tasks_of_round(round, count, deadline_s_));
    }

private:
    void worker_loop(std::uint32_t worker) {
        const TaskBoard board(block_, worker);
        while (block_.header().shutdown.load() == 0) {
            while (const auto claim = board.claim()) {
                TaskCell& cell = block_.task(claim->task_index);
                const TaskPhase phase = work_(worker, cell);
                cell.finished_ns = now_ns();
                board.finish(*claim, phase);
            }
            wait_for(block_.worker(worker).door_bell);
        }
    }

    ControlBlock block_;
    Watcher watcher_;

public:
    RoundBarrier barrier;

private:
    double deadline_s_;
    Work work_;
    std::vector<std::thread> threads_;
};

}  // namespace fedhive::clients::testing
