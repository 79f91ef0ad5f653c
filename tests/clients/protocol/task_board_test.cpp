// The task board: tasks stay over several waits, are claimed in order of their due times, and may be withdrawn.
#include "tests/clients/protocol/threaded_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::clients::testing;

TEST_SUITE("TaskBoard") {
    TEST_CASE("TasksStayOnTheBoardOverLaterPuts") {
        std::atomic<bool> release{false};
        std::atomic<int> runs_of_first{0};
        ThreadedRun run(2, 4, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            if (cell.task.first == 0) ++runs_of_first;
            return TaskPhase::Done;
        });
        const auto tasks = tasks_of_round(0, 4);
        publish_again(run.barrier, 0, tasks[0]);
        for (int round = 0; round < 100; ++round)
            for (const std::size_t cell : {1U, 2U, 3U}) {
                publish_again(run.barrier, cell, tasks[cell]);
                REQUIRE(run.barrier.wait(std::vector{cell}, 1).empty());
                REQUIRE_FALSE(run.barrier.done(0));
            }
        CHECK_THROWS_WITH_AS(run.barrier.put(0, tasks[0]), doctest::Contains("cell 0 is still at work"), Fault);
        release = true;
        CHECK(run.barrier.wait(cells(1), 1).empty());
        CHECK(runs_of_first == 1);
    }

    TEST_CASE("WaitLooksAtItsCellsAndTellsOfFailuresAnywhere") {
        std::atomic<bool> release{false};
        ThreadedRun run(2, 3, 60.0, [&](std::uint32_t, TaskCell& cell) {
            while (cell.task.first == 0 && !release) std::this_thread::yield();
            return cell.task.first == 2 ? TaskPhase::Failed : TaskPhase::Done;
        });
        const auto tasks = tasks_of_round(0, 3);
        publish_again(run.barrier, 0, tasks[0]);
        publish_again(run.barrier, 1, tasks[1]);
        CHECK(run.barrier.wait(std::vector<std::size_t>{1}, 1).empty());
        publish_again(run.barrier, 2, tasks[2]);
        const auto found = run.barrier.wait(std::vector<std::size_t>{0}, 1);
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].cell == 2);
        CHECK(run.barrier.wait(std::vector<std::size_t>{0}, 1).empty());  // reported once
    }

    TEST_CASE("TaskDueFirstIsClaimedFirst") {
        const ControlBlock block = ControlBlock::create({1, 5, 5});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 60.0, no_processes());
        const TaskBoard board(block, 0);
        const auto tasks = tasks_of_round(0, 5);
        const std::vector<double> due{3.0, 1.0, 4.0, 1.5, 0.0};
        for (std::size_t i = 0; i < 5; ++i) barrier.put(i, tasks[i], due[i]);
        CHECK_FALSE(board.claim());  // nothing is queued before the ring
        barrier.ring();
        std::vector<std::size_t> order;
        while (const auto claim = board.claim()) {
            order.push_back(claim->task_index);
            board.finish(*claim, TaskPhase::Done);
            if (order.size() != 2) continue;
            // Re-queued while others remain: 4 is now due last; 1 is due after 2, which was re-queued before.
            barrier.put(4, tasks[4], 5.0);
            barrier.put(1, tasks[1], 4.0);
            barrier.withdraw(std::vector<std::size_t>{4});
            barrier.put(4, tasks[4], 5.0);
            barrier.ring();
        }
        CHECK(order == std::vector<std::size_t>{4, 1, 3, 0, 2, 1, 4});
        CHECK(block.header().queued.load() == 5);
    }

    TEST_CASE("OfTasksDueAtTheSameTimeTheOnePutFirstIsClaimedFirst") {
        const ControlBlock block = ControlBlock::create({1, 3, 3});
        Watcher watcher([&] { block.header().coordinator_bell.post(); });
        RoundBarrier barrier(block, watcher, 60.0, no_processes());
        const TaskBoard board(block, 0);
        const auto tasks = tasks_of_round(0, 3);
        publish(barrier, tasks);
        std::vector<std::size_t> order;
        for (int turn = 0; turn < 7; ++turn) {
            const auto claim = board.claim();
            REQUIRE(claim);
            order.push_back(claim->task_index);
            board.finish(*claim, TaskPhase::Done);
            publish_again(barrier, claim->task_index, tasks[claim->task_index]);  // as a client that is sent again at once
        }
        CHECK(order == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0});
    }

    TEST_CASE("WithdrawnTaskIsIdleAtOnceOrLetGoByItsWorker") {
        std::atomic<bool> begun{false};
        ThreadedRun run(1, 2, 60.0, [&](std::uint32_t, TaskCell& cell) {
            begun = true;
            while (cell.withdrawn.load() == 0) std::this_thread::yield();
            return TaskPhase::Idle;
        });
        run.publish(0, 2);
        while (!begun) std::this_thread::yield();
        run.barrier.withdraw(cells(2));
        CHECK(TaskState::unpack(run.block().task(1).state.load()).phase == TaskPhase::Idle);  // no worker had claimed it
        CHECK(run.barrier.wait_until_let_go(cells(2)).empty());
        CHECK(TaskState::unpack(run.block().task(0).state.load()).phase == TaskPhase::Idle);
        const auto tasks = tasks_of_round(1, 2);
        CHECK_NOTHROW(run.barrier.put(0, tasks[0]));
        CHECK(run.block().task(0).withdrawn.load() == 0);
        run.barrier.withdraw(cells(1));
    }

    TEST_CASE("WorkerThatDoesNotLetGoIsHung") {
        std::atomic<bool> release{false};
        std::atomic<bool> begun{false};
        ThreadedRun run(1, 1, 0.3, [&](std::uint32_t, TaskCell&) {
            begun = true;
            while (!release) std::this_thread::yield();
            return TaskPhase::Idle;
        });
        run.publish(0, 1);
        while (!begun) std::this_thread::yield();
        run.barrier.withdraw(cells(1));
        const auto found = run.barrier.wait_until_let_go(cells(1));
        release = true;
        REQUIRE(found.size() == 1);
        CHECK(found[0].worker_lost);
        CHECK(found[0].cell == 0);
        CHECK(run.barrier.wait_until_let_go(cells(1)).empty());
    }

    TEST_CASE("NoWakeUpIsLostInWaitsOnRandomSubsetsThoughTheCounterWraps") {
        constexpr std::size_t kCells = 12;
        for (const std::uint32_t workers : {1U, 3U}) {
            ThreadedRun run(workers, kCells, 60.0, [](std::uint32_t, TaskCell&) { return TaskPhase::Done; });
            run.block().header().finished.store(0xFFFFFFF0U);
            const auto tasks = tasks_of_round(0, kCells);
            Stream random(1, Purpose::TestData, workers);
            std::set<std::size_t> flying;
            const std::int64_t start = now_ns();
            for (int turn = 0; turn < 3000; ++turn) {
                for (std::size_t cell = 0; cell < kCells; ++cell)
                    if (random.below(2) == 0 && flying.insert(cell).second)
                        run.barrier.put(cell, tasks[cell], static_cast<double>(random.below(5)));
                run.barrier.ring();
                std::vector<std::size_t> subset;
                for (const std::size_t cell : flying)
                    if (random.below(3) > 0) subset.push_back(cell);
                const std::size_t quorum = random.below(subset.size() + 1);
                REQUIRE(run.barrier.wait(subset, quorum).empty());
                std::size_t done = 0;
                for (const std::size_t cell : subset) done += run.barrier.done(cell) ? flying.erase(cell) : 0;
                REQUIRE(done >= quorum);
            }
            CHECK(seconds_between(start, now_ns()) < 50.0);  // a lost task costs a deadline
        }
    }
}
