// A task is reported as ended only after the work that it has enqueued.
#include "clients/worker/task_runner.h"

#include "aggregation/memory/host_arena.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "tests/fleet/toy_trainer.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// One client's task, which fails on request; records the board's state whenever the device is synchronized.
struct OneTask {
    explicit OneTask(const char* fault, bool withdrawn = false, const char* device_problem = nullptr)
        : dataset(SharedDataset::create(draw_synthetic({30, 5, 3, 4, 1.0}, 1), partition_contiguous(30, 3))),
          arena({16, 1}),
          plan(testing::toy_plan(arena, dataset, 4)),
          trainer(16) {
        setenv("TOY_FAULT", fault, 1);
        setenv("TOY_CLIENT", "0", 1);
        TaskCell& cell = block.task(0);
        cell.task.kind = TaskKind::Train;
        cell.task.count = 1;
        cell.state.store(TaskState{1, 0, TaskPhase::Ready}.pack());
        cell.withdrawn.store(withdrawn ? 1 : 0);
        block.header().num_tasks.store(1);
        block.header().queued.store(1);
        const auto wait = [&] {
            seen_while_waiting.push_back(phase());
            if (device_problem != nullptr) throw DeviceFault(device_problem);
        };
        TaskRunner runner(
            block, 0, arena, dataset, plan, trainer, [] { return false; }, false, wait);
        CHECK(runner.run_one());
        unsetenv("TOY_FAULT");
        unsetenv("TOY_CLIENT");
    }
    TaskPhase phase() const { return TaskState::unpack(block.task(0).state.load()).phase; }

    SharedDataset dataset;
    aggregation::HostArena arena;
    WorkerPlan plan;
    testing::ToyTrainer trainer;
    ControlBlock block = ControlBlock::create({1, 1, 1});
    std::vector<TaskPhase> seen_while_waiting;
};

}  // namespace

TEST_SUITE("TaskRunner") {
    TEST_CASE("FailedTaskIsToldWhenTheDeviceIsIdle") {
        const OneTask task("throw");
        CHECK(task.seen_while_waiting == std::vector{TaskPhase::Claimed});
        CHECK(task.phase() == TaskPhase::Failed);
        CHECK(task.block.task(0).failure == FailureKind::Exception);
        CHECK(task.block.task(0).error.get() == "the toy broke");
    }

    TEST_CASE("WithdrawnTaskIsLetGoOfWhenTheDeviceIsIdle") {
        const OneTask task("", true);
        CHECK(task.seen_while_waiting == std::vector{TaskPhase::Claimed});
        CHECK(task.phase() == TaskPhase::Idle);
    }

    TEST_CASE("DeviceThatIsFoundLostInTheWaitIsWhatIsTold") {
        for (const bool withdrawn : {false, true}) {
            const OneTask task(withdrawn ? "" : "throw", withdrawn, "CUDA: an illegal memory access was encountered");
            CHECK(task.phase() == TaskPhase::Failed);
            CHECK(task.block.task(0).failure == FailureKind::DeviceError);
            CHECK(task.block.task(0).error.get() == "CUDA: an illegal memory access was encountered");
        }
        const OneTask first_cause("device", false, "something later");
        CHECK(first_cause.block.task(0).error.get() == "the toy lost its device");
    }
}
