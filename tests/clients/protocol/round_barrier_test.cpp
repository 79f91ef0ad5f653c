// The protocol with workers as threads over one mapping: thread sanitizer sees races only inside one mapping.
#include "clients/protocol/round_barrier.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <unistd.h>
#include <algorithm>
#include <thread>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// Coordinator and W worker threads; what a task does is given by the test.
class ThreadedRun {
public:
    using Work = std::function<TaskPhase(std::uint32_t worker, TaskCell& cell)>;

    ThreadedRun(std::uint32_t workers, std::uint32_t max_tasks, double deadline_s, Work work)
        : block_(ControlBlock::create({workers, max_tasks, std::max(1U, max_tasks)})),
          watcher_([this] { block_.header().coordinator_bell.post(); }),
          barrier(block_, watcher_, deadline_s,
                  [](std::size_t worker) {
                      return ClientFailure{FailureKind::Exited, static_cast<std::int64_t>(worker), -1, -1, ""};
                  }),
          work_(std::move(work)) {
        for (std::uint32_t w = 0; w < workers; ++w) threads_.emplace_back([this, w] { worker_loop(w); });
    }
    ~ThreadedRun() {
        block_.shut_down();
        for (std::thread& thread : threads_) thread.join();
    }

    const ControlBlock& block() const { return block_; }

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
    Work work_;
    std::vector<std::thread> threads_;
};

std::vector<Task> tasks_of_round(std::uint32_t round, std::size_t count) {
    std::vector<Task> tasks(count);
    for (std::size_t i = 0; i < count; ++i) {
        tasks[i].kind = TaskKind::Train;
        tasks[i].round = round;
        tasks[i].first = i;
        tasks[i].count = 1;
    }
    return tasks;
}

}  // namespace

TEST_SUITE("RoundBarrier") {
    TEST_CASE("EveryTaskOfEveryRoundRunsExactlyOnce") {
        constexpr std::size_t kTasks = 7;
        constexpr std::uint32_t kRounds = 300;
        for (const std::uint32_t workers : {1U, 2U, 4U, 9U}) {
            std::vector<std::uint64_t> runs(kTasks, 0);  // plain: a task run twice at a time is a race
            ThreadedRun run(workers, kTasks, 60.0, [&](std::uint32_t, TaskCell& cell) {
                runs[cell.task.first] += cell.task.round + 1;
                return TaskPhase::Done;
            });
            std::uint64_t expected = 0;
            for (std::uint32_t round = 0; round < kRounds; ++round) {
                run.barrier.publish(tasks_of_round(round, kTasks));
                const auto outcomes = run.barrier.wait(kTasks);
                expected += round + 1;
                REQUIRE(outcomes.size() == kTasks);
                for (std::size_t i = 0; i < kTasks; ++i) {
                    REQUIRE(outcomes[i].phase == TaskPhase::Done);
                    REQUIRE(runs[i] == expected);
                }
            }
        }
    }

    TEST_CASE("RoundsOfDifferentSizeDoNotDisturbEachOther") {
        std::atomic<std::uint64_t> total{0};
        ThreadedRun run(3, 40, 60.0, [&](std::uint32_t, TaskCell&) {
            ++total;
            return TaskPhase::Done;
        });
        std::uint64_t expected = 0;
        for (std::uint32_t round = 0; round < 200; ++round) {
            const std::size_t count = 1 + round * 17 % 40;
            run.barrier.publish(tasks_of_round(round, count));
            CHECK(run.barrier.wait(count).size() == count);
            expected += count;
            CHECK(total.load() == expected);
        }
    }

    TEST_CASE("FailedTaskNamesWorkerClientAndRound") {
        ThreadedRun run(2, 3, 60.0, [](std::uint32_t, TaskCell& cell) {
            if (cell.task.first != 1) return TaskPhase::Done;
            cell.error.set("loss is not a number");
            return TaskPhase::Failed;
        });
        run.block().members()[1].client_id = 77;
        run.barrier.publish(tasks_of_round(4, 3));
        const auto outcomes = run.barrier.wait(3);
        CHECK_FALSE(outcomes[0].failure);
        REQUIRE(outcomes[1].failure);
        CHECK(outcomes[1].failure->kind == FailureKind::Exception);
        CHECK(outcomes[1].failure->client_id == 77);
        CHECK(outcomes[1].failure->round == 5);
        CHECK(outcomes[1].failure->message == "loss is not a number");
    }

    TEST_CASE("TaskPastItsDeadlineIsHungAndNamed") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 2, 0.3, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 1 && !release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        const std::int64_t start = now_ns();
        run.barrier.publish(tasks_of_round(0, 2));
        const auto outcomes = run.barrier.wait(2);
        const double seconds = seconds_between(start, now_ns());
        release = true;
        CHECK_FALSE(outcomes[0].failure);
        REQUIRE(outcomes[1].failure);
        CHECK(outcomes[1].failure->kind == FailureKind::Hung);
        CHECK(outcomes[1].failure->worker == outcomes[1].worker);
        CHECK(seconds >= 0.3);
        CHECK(seconds < 5.0);
    }

    TEST_CASE("WorkerThatDoesNotLookIsHungThoughOthersDoTheWork") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, [](std::size_t) { return ClientFailure{}; });
        const TaskBoard board(block, 0);
        const std::int64_t start = now_ns();
        while (barrier.worker_failures().empty() && seconds_between(start, now_ns()) < 5.0) {
            barrier.publish(tasks_of_round(0, 1));
            std::thread worker([&] {
                wait_for(block.worker(0).door_bell);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                if (const auto claim = board.claim()) board.finish(*claim, TaskPhase::Done);
            });
            barrier.wait(1);
            worker.join();
        }
        REQUIRE(barrier.worker_failures().size() == 1);
        CHECK(barrier.worker_failures()[0].worker == 1);
        CHECK(barrier.worker_failures()[0].kind == FailureKind::Hung);
        CHECK(seconds_between(start, now_ns()) >= 0.2);
    }

    TEST_CASE("OnlyWorkerHangingBeforeTheLastTaskEndsTheWait") {
        std::atomic<bool> release{false};
        ThreadedRun run(1, 3, 0.3, [&](std::uint32_t, TaskCell&) {
            while (!release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        const std::int64_t start = now_ns();
        run.barrier.publish(tasks_of_round(0, 3));
        const auto outcomes = run.barrier.wait(3);
        const double seconds = seconds_between(start, now_ns());
        release = true;
        REQUIRE(outcomes[0].failure);
        CHECK(outcomes[0].failure->kind == FailureKind::Hung);
        CHECK(run.barrier.worker_failures().size() == 1);
        CHECK(seconds < 5.0);
    }

    TEST_CASE("WorkerThatLooksAndTakesNothingIsHung") {
        const ControlBlock block = ControlBlock::create({1, 2, 2});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, [](std::size_t) { return ClientFailure{}; });
        barrier.publish(tasks_of_round(0, 2));
        block.worker(0).seen.store(block.header().ticket.load());
        barrier.wait(2);
        REQUIRE(barrier.worker_failures().size() == 1);
        CHECK(barrier.worker_failures()[0].kind == FailureKind::Hung);
    }

    TEST_CASE("NobodyTakingATaskIsNoticed") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, [](std::size_t) { return ClientFailure{}; });
        barrier.publish(tasks_of_round(0, 1));
        barrier.wait(1);
        REQUIRE(barrier.worker_failures().size() == 2);
        CHECK(barrier.worker_failures()[1].kind == FailureKind::Hung);
        CHECK(barrier.worker_failures()[1].worker == 1);
    }

    TEST_CASE("QuorumEndsTheWaitBeforeTheSlowest") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 2, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        run.barrier.publish(tasks_of_round(0, 2));
        const auto outcomes = run.barrier.wait(1);
        CHECK(outcomes[0].phase != TaskPhase::Done);
        CHECK(outcomes[1].phase == TaskPhase::Done);
        release = true;
        run.barrier.wait(2);
    }

    TEST_CASE("TasksRunInTheCoordinatorWithoutWorkers") {
        const ControlBlock block = ControlBlock::create({1, 3, 3});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 60.0, [](std::size_t) { return ClientFailure{}; });
        const TaskBoard board(block, 0);
        barrier.publish(tasks_of_round(0, 3));
        const auto outcomes = barrier.run_here([&](std::size_t) { board.finish(*board.claim(), TaskPhase::Done); });
        CHECK(
            std::all_of(outcomes.begin(), outcomes.end(), [](const TaskOutcome& one) { return one.phase == TaskPhase::Done; }));
    }
}
