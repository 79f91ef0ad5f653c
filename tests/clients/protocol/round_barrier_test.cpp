// The protocol with workers as threads: publish tasks, wait.
#include "tests/clients/protocol/threaded_run.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::clients::testing;

TEST_SUITE("RoundBarrier") {
    TEST_CASE("EveryTaskOfEveryRoundRunsExactlyOnce") {
        constexpr std::size_t kTasks = 7;
        constexpr std::uint32_t kRounds = 300;
        for (const std::uint32_t workers : {1U, 2U, 4U, 9U}) {
            std::vector<std::uint64_t> runs(kTasks, 0);  // not atomic: two concurrent runs of a task would be a race
            ThreadedRun run(workers, kTasks, 60.0, [&](std::uint32_t, TaskCell& cell) {
                runs[cell.task.first] += cell.task.round + 1;
                return TaskPhase::Done;
            });
            std::uint64_t expected = 0;
            for (std::uint32_t round = 0; round < kRounds; ++round) {
                run.publish(round, kTasks);
                expected += round + 1;
                REQUIRE(run.barrier.wait(cells(kTasks), kTasks).empty());
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
            CHECK(run.barrier.wait(cells(count), count).empty());
            CHECK(num_done(run.barrier, count) == count);
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
        const auto found = run.barrier.wait(cells(3), 3);  // task 0 is not done yet
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].cell == 1);
        CHECK_FALSE(found[0].worker_lost);
        CHECK(found[0].failure.kind == FailureKind::NonFinite);
        CHECK(found[0].failure.client_id == 77);
        CHECK(found[0].failure.round == 5);
        CHECK(found[0].failure.message == "loss is not a number");
        CHECK(run.barrier.wait(cells(3), 2).empty());
    }

    TEST_CASE("FailedTaskRunsAgainWhenItIsPublishedAgain") {
        std::atomic<int> runs{0};
        ThreadedRun run(3, 8, 60.0, [&](std::uint32_t, TaskCell& cell) {
            return cell.task.first == 5 && ++runs < 4 ? TaskPhase::Failed : TaskPhase::Done;
        });
        const auto tasks = tasks_of_round(0, 8);
        publish(run.barrier, tasks);
        for (int failures = 0; failures < 3; ++failures) {
            const auto found = run.barrier.wait(cells(8), 8);
            REQUIRE(found.size() == 1);
            REQUIRE(found[0].cell == 5);
            publish_again(run.barrier, 5, tasks[5]);
        }
        CHECK(run.barrier.wait(cells(8), 8).empty());
        CHECK(num_done(run.barrier, 8) == 8);
        CHECK(runs == 4);
    }

    TEST_CASE("CellThatNothingWasPutInIsNotClaimed") {
        std::atomic<int> runs{0};
        ThreadedRun run(2, 4, 60.0, [&](std::uint32_t, TaskCell& cell) {
            runs += static_cast<int>(cell.task.first);
            return TaskPhase::Done;
        });
        const auto tasks = tasks_of_round(0, 4);
        const std::vector<std::size_t> put{0, 1, 3};
        for (const std::size_t cell : put) run.barrier.put(cell, tasks[cell]);
        run.barrier.ring();
        CHECK(run.barrier.wait(put, 3).empty());
        CHECK(runs == 0 + 1 + 3);
        CHECK_FALSE(run.barrier.done(2));
    }

    TEST_CASE("CellThatNothingWasPutInDoesNotWakeTheCoordinator") {
        ThreadedRun run(1, 4, 60.0, [&](std::uint32_t, TaskCell&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(400));
            return TaskPhase::Done;
        });
        const auto sleeps = [] {
            rusage usage{};
            getrusage(RUSAGE_THREAD, &usage);
            return usage.ru_nvcsw;
        };
        run.barrier.put(3, tasks_of_round(0, 4)[3]);
        run.barrier.ring();
        const long before = sleeps();
        CHECK(run.barrier.wait(std::vector<std::size_t>{3}, 1).empty());
        CHECK(sleeps() - before < 40);  // polling every millisecond would be 400
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
        // Without a sign of life for kAliveNs a worker is hung, not late.
        publish(run.barrier, tasks_of_round(0, 2, 1.3));
        const auto found = run.barrier.wait(cells(2), 2);
        const double seconds = seconds_between(start, now_ns());
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
        CHECK(found[0].cell == 1);
        CHECK(found[0].worker_lost);
        CHECK(seconds >= 1.3);
        CHECK(seconds < 60.0);
        release = true;
        while (finished < 2) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHECK_FALSE(run.barrier.done(1));
        CHECK(num_done(run.barrier, 2) == 1);
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
        const auto found = run.barrier.wait(cells(1), 1);
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
        while (found.empty() && seconds_between(start, now_ns()) < 60.0) {
            publish(barrier, tasks_of_round(0, 1));
            std::thread worker([&] {
                wait_for(block.worker(0).door_bell);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                if (const auto claim = board.claim()) board.finish(*claim, TaskPhase::Done);
            });
            found = barrier.wait(cells(1), 1);
            worker.join();
        }
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.worker == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
        CHECK_FALSE(found[0].cell);
        CHECK(seconds_between(start, now_ns()) >= 0.2);
    }

    TEST_CASE("WorkerThatDoesNotGetReadyHasItsOwnTimeAndIsTold") {
        for (const auto& [answer_s, start_s, limit_s] : {std::tuple{0.1, 0.5, 0.5}, {0.4, 0.1, 0.4}}) {
            const ControlBlock block = ControlBlock::create({1, 1, 1});
            Watcher watcher([&] { block.header().coordinator_bell.post(); });
            RoundBarrier barrier(block, watcher, answer_s, no_processes(), start_s);
            const std::int64_t start = now_ns();
            publish(barrier, tasks_of_round(0, 1));
            const auto found = barrier.wait(cells(1), 1);
            const double seconds = seconds_between(start, now_ns());
            REQUIRE(found.size() == 1);
            CHECK(found[0].failure.kind == FailureKind::Hung);
            CHECK(found[0].failure.message.starts_with(fmt::format("starting, was not ready after {:.1f} s", limit_s)));
            CHECK(seconds >= limit_s);
            CHECK(seconds < limit_s + 60.0);
        }
    }

    TEST_CASE("OnlyWorkerHangingBeforeTheLastTaskEndsTheWait") {
        std::atomic<bool> release{false};
        ThreadedRun run(1, 3, 0.3, [&](std::uint32_t, TaskCell&) {
            while (!release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        const std::int64_t start = now_ns();
        run.publish(0, 3);
        const auto found = run.barrier.wait(cells(3), 3);
        const double seconds = seconds_between(start, now_ns());
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].worker_lost);
        CHECK(seconds < 60.0);
    }

    TEST_CASE("WorkerThatLooksAndTakesNothingIsHung") {
        const ControlBlock block = ControlBlock::create({1, 2, 2});
        block.worker(0).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        publish(barrier, tasks_of_round(0, 2));
        block.worker(0).seen.store(block.header().ticket.load());
        const auto found = barrier.wait(cells(2), 2);
        REQUIRE(found.size() == 1);
        CHECK(found[0].failure.kind == FailureKind::Hung);
    }

    TEST_CASE("NobodyTakingATaskIsNoticedUntilSomebodyIsReplaced") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        for (const std::size_t w : {0U, 1U}) block.worker(w).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        publish(barrier, tasks_of_round(0, 1));
        const auto found = barrier.wait(cells(1), 1);
        REQUIRE(found.size() == 2);
        CHECK(found[1].failure.kind == FailureKind::Hung);
        CHECK(found[1].failure.worker == 1);
        block.renew_worker(1);
        barrier.worker_replaced(1);
        const TaskBoard board(block, 1);
        std::thread worker([&] { board.finish(*board.claim(), TaskPhase::Done); });
        CHECK(barrier.wait(cells(1), 1).empty());
        worker.join();
    }

    TEST_CASE("RetiredWorkerGivesItsTaskBackAndIsMissedByNobody") {
        const ControlBlock block = ControlBlock::create({2, 2, 2});
        for (const std::size_t w : {0U, 1U}) block.worker(w).state.store(WorkerState::Waiting);
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 0.2, no_processes());
        const auto tasks = tasks_of_round(0, 2);
        publish(barrier, tasks);
        const TaskBoard left(block, 0);
        const TaskBoard retired(block, 1);
        const auto claim = retired.claim();
        REQUIRE(claim);
        const auto given_back = barrier.retire(1);
        REQUIRE(given_back);
        CHECK(*given_back == claim->task_index);
        CHECK_FALSE(retired.finish(*claim, TaskPhase::Done));
        publish_again(barrier, *given_back, tasks[*given_back]);
        for (int i = 0; i < 2; ++i) left.finish(*left.claim(), TaskPhase::Done);
        CHECK(barrier.wait(cells(2), 2).empty());
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than a worker may ignore its bell
        CHECK(barrier.wait(cells(2), 2).empty());
    }

    TEST_CASE("QuorumEndsTheWaitBeforeTheSlowest") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 2, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            return TaskPhase::Done;
        });
        run.publish(0, 2);
        CHECK(run.barrier.wait(cells(2), 1).empty());
        CHECK_FALSE(run.barrier.done(0));
        CHECK(run.barrier.done(1));
        release = true;
        CHECK(run.barrier.wait(cells(2), 2).empty());
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
        publish(barrier, tasks);
        for (std::size_t cell = 0; cell < 3; ++cell) {
            const auto found = barrier.run_here(cells(3), 3, [&] { return run_one(TaskPhase::Failed); });
            REQUIRE(found.size() == 1);  // reported at once
            CHECK(found[0].cell == cell);
        }
        publish_again(barrier, 2, tasks[2]);
        CHECK(barrier.run_here(cells(3), 1, [&] { return run_one(TaskPhase::Done); }).empty());
        CHECK(num_done(barrier, 3) == 1);
        CHECK(barrier.done(2));
    }
}
