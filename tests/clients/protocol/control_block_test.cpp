#include "clients/protocol/control_block.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/protocol/round_barrier.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("ControlBlock") {
    TEST_CASE("OpenedBlockShowsWhatTheCreatorWrote") {
        const ControlBlock created = ControlBlock::create({3, 5, 7});
        struct Plan {
            int a;
            double b;
        };
        created.set_plan(Plan{4, 2.5});
        created.members()[6].client_id = 42;
        created.task(4).task.slot = 9;
        created.worker(2).error.set("no model");

        const ControlBlock opened = ControlBlock::open(created.descriptor());
        CHECK(opened.geometry().num_workers == 3);
        CHECK(opened.members().size() == 7);
        CHECK(opened.plan<Plan>().b == 2.5);
        CHECK(opened.members()[6].client_id == 42);
        CHECK(opened.task(4).task.slot == 9);
        CHECK(opened.worker(2).error.get() == "no model");
    }

    TEST_CASE("PartsDoNotOverlap") {
        const ControlBlock block = ControlBlock::create({2, 3, 4});
        const auto address = [](const auto& part) { return reinterpret_cast<std::uintptr_t>(&part); };
        CHECK(address(block.worker(0)) >= address(block.header()) + sizeof(ControlBlock::Header) + ControlBlock::kPlanBytes);
        CHECK(address(block.task(0)) >= address(block.worker(1)) + sizeof(WorkerCell));
        CHECK(address(block.members()[0]) >= address(block.task(2)) + sizeof(TaskCell));
        CHECK(address(block.results()[0]) >= address(block.members()[3]) + sizeof(Member));
        CHECK(address(block.task(0)) % 64 == 0);
        CHECK(address(block.worker(1)) % 64 == 0);
    }

    TEST_CASE("IndexBeyondTheGeometryIsAFault") {
        const ControlBlock block = ControlBlock::create({2, 3, 4});
        CHECK_THROWS_AS(block.worker(2), Fault);
        CHECK_THROWS_AS(block.task(3), Fault);
    }

    TEST_CASE("SegmentThatIsNoControlBlockIsRefused") {
        const aggregation::SharedSegment segment("test", 1 << 16);
        CHECK_THROWS_WITH_AS(ControlBlock::open(segment.descriptor()), doctest::Contains("not a control block"), Fault);
    }

    TEST_CASE("GeometryThatDoesNotFitTheSegmentIsRefused") {
        const ControlBlock block = ControlBlock::create({2, 3, 4});
        for (const ControlGeometry& damaged : {ControlGeometry{2, 3, 1 << 20}, ControlGeometry{0, 3, 4},
                                               ControlGeometry{2, 0xFFFFFFFF, 4}, ControlGeometry{2, 3, ~std::uint64_t{0}}}) {
            block.header().geometry = damaged;
            CHECK_THROWS_WITH_AS(ControlBlock::open(block.descriptor()), doctest::Contains("do not fit"), Fault);
        }
    }

    TEST_CASE("TextLongerThanItsRoomIsCut") {
        FixedText<8> text;
        text.set("0123456789");
        CHECK(text.get() == "0123456");
        text.characters.fill('x');  // a writer that died before the last NUL
        CHECK(text.get() == "xxxxxxxx");
    }
}

TEST_SUITE("TaskBoard") {
    const auto publish = [](const ControlBlock& block, std::uint32_t ticket, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            block.task(i).state.store(TaskState{ticket, 0, TaskPhase::Ready}.pack());
            block.queue()[i].store(i);
        }
        block.header().num_tasks.store(count);
        block.header().queued.store(count);
        block.header().cursor.store(0);
        block.header().wake_at.store(count);
    };

    TEST_CASE("StateWordKeepsItsThreeParts") {
        const TaskState state = TaskState::unpack(TaskState{0xDEADBEEF, 0xABCDEF, TaskPhase::Failed}.pack());
        CHECK(state.ticket == 0xDEADBEEF);
        CHECK(state.worker == 0xABCDEF);
        CHECK(state.phase == TaskPhase::Failed);
    }

    TEST_CASE("EachTaskIsClaimedOnce") {
        const ControlBlock block = ControlBlock::create({2, 5, 1});
        publish(block, 1, 5);
        const TaskBoard first(block, 0);
        const TaskBoard second(block, 1);
        std::set<std::size_t> claimed;
        for (int i = 0; i < 5; ++i) claimed.insert((i % 2 == 0 ? first : second).claim()->task_index);
        CHECK(claimed.size() == 5);
        CHECK_FALSE(first.claim());
    }

    TEST_CASE("WrongHintHidesNoTask") {
        const ControlBlock block = ControlBlock::create({1, 4, 1});
        publish(block, 1, 4);
        block.header().cursor.store(3);
        const TaskBoard board(block, 0);
        std::set<std::size_t> claimed;
        while (const auto claim = board.claim()) claimed.insert(claim->task_index);
        CHECK(claimed.size() == 4);
    }

    TEST_CASE("LateWorkerCannotFinishAWithdrawnTask") {
        const ControlBlock block = ControlBlock::create({2, 1, 1});
        publish(block, 1, 1);
        const TaskBoard late(block, 0);
        const auto claim = late.claim();
        REQUIRE(claim);
        publish(block, 2, 1);
        CHECK_FALSE(late.finish(*claim, TaskPhase::Done));
        const auto again = TaskBoard(block, 1).claim();
        REQUIRE(again);
        CHECK_FALSE(late.finish(*claim, TaskPhase::Done));
        CHECK(TaskBoard(block, 1).finish(*again, TaskPhase::Done));
    }

    TEST_CASE("BellRingsWhenEnoughAreFinished") {
        const ControlBlock block = ControlBlock::create({1, 3, 1});
        publish(block, 1, 3);
        block.header().wake_at.store(2);
        const TaskBoard board(block, 0);
        CHECK(board.finish(*board.claim(), TaskPhase::Done));
        CHECK_FALSE(block.header().coordinator_bell.try_wait());
        CHECK(board.finish(*board.claim(), TaskPhase::Failed));
        CHECK(block.header().coordinator_bell.try_wait());
    }
}
