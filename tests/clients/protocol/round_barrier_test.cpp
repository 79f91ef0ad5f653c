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

std::vector<Task> tasks_of_round(std::uint32_t round, std::size_t count, double deadline_s = 60.0) {
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

/// Threads cannot be killed: who is lost goes on, and must find its claim withdrawn.
WorkerControl no_processes() {
    return {[](std::size_t worker) {
                ClientFailure failure;
                failure.worker = static_cast<std::int64_t>(worker);
                return failure;
            },
            [](std::size_t) {}};
}

/// Coordinator and W worker threads; what a task does is given by the test.
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
    void publish(std::uint32_t round, std::size_t count) { barrier.publish(tasks_of_round(round, count, deadline_s_)); }

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
                run.publish(round, kTasks);
                expected += round + 1;
                REQUIRE(run.barrier.wait(kTasks).empty());
                for (std::size_t i = 0; i < kTasks; ++i) {
                    REQUIRE(run.barrier.done(i));
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
            run.publish(round, count);
            CHECK(run.barrier.wait(count).empty());
            CHECK(run.barrier.num_done() == count);
            expected += count;
            CHECK(total.load() == expected);
        }
    }

    TEST_CASE("FailedTaskIsToldAtOnceAndNamesWorkerClientAndRound") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 3, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            if (cell.task.first != 1) return TaskPhase::Done;
            cell.failure = FailureKind::NonFinite;
            cell.error.set("loss is not a number");
            return TaskPhase::Failed;
        });
        run.block().members()[1].client_id = 77;
        run.publish(4, 3);
        const auto found = run.barrier.wait(3);  // task 0 is not done yet
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].task_index == 1);
        CHECK_FALSE(found[0].worker_lost);
        CHECK(found[0].failure.kind == FailureKind::NonFinite);
        CHECK(found[0].failure.client_id == 77);
        CHECK(found[0].failure.round == 5);
        CHECK(found[0].failure.message == "loss is not a number");
        CHECK(run.barrier.wait(2).empty());
    }

    TEST_CASE("FailedTaskRunsAgainWhenItIsPublishedAgain") {
        std::atomic<int> runs{0};
        ThreadedRun run(3, 8, 60.0, [&](std::uint32_t, TaskCell& cell) {
            return cell.task.first == 5 && ++runs < 4 ? TaskPhase::Failed : TaskPhase::Done;
        });
        const auto tasks = tasks_of_round(0, 8);
        run.barrier.publish(tasks);
        for (int failures = 0; failures < 3; ++failures) {
            const auto found = run.barrier.wait(8);
            REQUIRE(found.size() == 1);
            REQUIRE(found[0].task_index == 5);
            run.barrier.publish_again(5, tasks[5]);
        }
        CHECK(run.barrier.wait(8).empty());
        CHECK(run.barrier.num_done() == 8);
        CHECK(runs == 4);
    }

    TEST_CASE("TaskThatIsNobodysIsNotClaimed") {
        std::atomic<int> runs{0};
        ThreadedRun run(2, 4, 60.0, [&](std::uint32_t, TaskCell& cell) {
            runs += static_cast<int>(cell.task.first);
            return TaskPhase::Done;
        });
        auto tasks = tasks_of_round(0, 4);
        tasks[3].kind = TaskKind::Nobodys;
        run.barrier.publish(tasks);
        CHECK(run.barrier.wait(3).empty());
        CHECK(runs == 0 + 1 + 2);
        CHECK_FALSE(run.barrier.done(3));
    }

    TEST_CASE("TaskPastItsDeadlineIsHungAndItsLateResultDoesNotCount") {
        std::atomic<bool> release{false};
        std::atomic<int> finished{0};
        ThreadedRun run(2, 2, 0.3, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 1 && !release) std::this_thread::yield();
            ++finished;
            return TaskPhase::Done;
        });
        const std::int64_t start = now_ns();
        // Without a sign of life for kAliveNs it is hung, not late.
        run.barrier.publish(tasks_of_round(0, 2, 1.3));
        const auto found = run.barrier.wait(2);
        const double seconds = seconds_between(start, now_ns());
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
        CHECK(found[0].task_index == 1);
        CHECK(found[0].worker_lost);
        CHECK(seconds >= 1.3);
        CHECK(seconds < 5.0);
        release = true;
        while (finished < 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK_FALSE(run.barrier.done(1));
        CHECK(run.barrier.num_done() == 1);
    }

    TEST_CASE("TaskPastItsDeadlineWithAHeartbeatIsLate") {
        std::atomic<bool> release{false};
        ThreadedRun* self = nullptr;
        ThreadedRun run(1, 1, 0.3, [&](std::uint32_t worker, TaskCell&) {
            while (!release) self->block().worker(worker).heartbeat_ns.store(now_ns());
            return TaskPhase::Done;
        });
        self = &run;
        run.publish(0, 1);
        const auto found = run.barrier.wait(1);
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.kind == FailureKind::Late);
    }

    TEST_CASE("WorkerThatDoesNotLookIsHungThoughOthersDoTheWork") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        for (const std::size_t w : {0U, 1U}) block.worker(w).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        const TaskBoard board(block, 0);
        const std::int64_t start = now_ns();
        std::vector<FoundFailure> found;
        while (found.empty() && seconds_between(start, now_ns()) < 5.0) {
            barrier.publish(tasks_of_round(0, 1));
            std::thread worker([&] {
                wait_for(block.worker(0).door_bell);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                if (const auto claim = board.claim()) board.finish(*claim, TaskPhase::Done);
            });
            found = barrier.wait(1);
            worker.join();
        }
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.worker == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
        CHECK_FALSE(found[0].task_index);
        CHECK(seconds_between(start, now_ns()) >= 0.2);
    }

    TEST_CASE("OnlyWorkerHangingBeforeTheLastTaskEndsTheWait") {
        std::atomic<bool> release{false};
        ThreadedRun run(1, 3, 0.3, [&](std::uint32_t, TaskCell&) {
            while (!release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        const std::int64_t start = now_ns();
        run.publish(0, 3);
        const auto found = run.barrier.wait(3);
        const double seconds = seconds_between(start, now_ns());
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].worker_lost);
        CHECK(seconds < 5.0);
    }

    TEST_CASE("WorkerThatLooksAndTakesNothingIsHung") {
        const ControlBlock block = ControlBlock::create({1, 2, 2});
        block.worker(0).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        barrier.publish(tasks_of_round(0, 2));
        block.worker(0).seen.store(block.header().ticket.load());
        const auto found = barrier.wait(2);
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
    }

    TEST_CASE("NobodyTakingATaskIsNoticedUntilSomebodyIsReplaced") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        for (const std::size_t w : {0U, 1U}) block.worker(w).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        barrier.publish(tasks_of_round(0, 1));
        const auto found = barrier.wait(1);
        REQUIRE(found.size() == 2);
        CHECK(found[1].failure.kind == FailureKind::Hung);
        CHECK(found[1].failure.worker == 1);
        block.renew_worker(1);
        barrier.worker_replaced(1);
        const TaskBoard board(block, 1);
        std::thread worker([&] { board.finish(*board.claim(), TaskPhase::Done); });
        CHECK(barrier.wait(1).empty());
        worker.join();
    }

    TEST_CASE("RetiredWorkerGivesItsTaskBackAndIsMissedByNobody") {
        const ControlBlock block = ControlBlock::create({2, 2, 2});
        for (const std::size_t w : {0U, 1U}) block.worker(w).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        const auto tasks = tasks_of_round(0, 2);
        barrier.publish(tasks);
        const TaskBoard left(block, 0);
        const TaskBoard retired(block, 1);
        const auto claim = retired.claim();
        REQUIRE(claim);
        const auto given_back = barrier.retire(1);
        REQUIRE(given_back);
        CHECK(*given_back == claim->task_index);
        CHECK_FALSE(retired.finish(*claim, TaskPhase::Done));
        barrier.publish_again(*given_back, tasks[*given_back]);
        for (int i = 0; i < 2; ++i) left.finish(*left.claim(), TaskPhase::Done);
        CHECK(barrier.wait(2).empty());
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // past what a worker may leave its bell unanswered
        CHECK(barrier.wait(2).empty());
    }

    TEST_CASE("QuorumEndsTheWaitBeforeTheSlowest") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 2, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        run.publish(0, 2);
        CHECK(run.barrier.wait(1).empty());
        CHECK_FALSE(run.barrier.done(0));
        CHECK(run.barrier.done(1));
        release = true;
        CHECK(run.barrier.wait(2).empty());
    }

    TEST_CASE("TasksRunInTheCoordinatorWithoutWorkers") {
        const ControlBlock block = ControlBlock::create({1, 3, 3});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 60.0, no_processes());
        const TaskBoard board(block, 0);
        const auto run_one = [&](TaskPhase phase) {
            const auto claim = board.claim();
            if (claim) board.finish(*claim, phase);
            return claim.has_value();
        };
        const auto tasks = tasks_of_round(0, 3);
        barrier.publish(tasks);
        CHECK(barrier.run_here([&] { return run_one(TaskPhase::Failed); }).size() == 3);
        barrier.publish_again(2, tasks[2]);
        CHECK(barrier.run_here([&] { return run_one(TaskPhase::Done); }).empty());
        CHECK(barrier.num_done() == 1);
        CHECK(barrier.done(2));
    }
}
