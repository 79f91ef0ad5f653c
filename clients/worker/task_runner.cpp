#include "clients/worker/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/worker/cross_losses_task.h"
#include "clients/worker/in_place_task.h"
#include "clients/worker/products_task.h"

namespace fedhive::clients {

namespace {

FailureKind kind_of(const std::exception& error) {
    if (const auto* failed = dynamic_cast<const TaskFailed*>(&error)) return failed->kind;
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return FailureKind::OutOfMemory;
    if (dynamic_cast<const DeviceFault*>(&error) != nullptr) return FailureKind::DeviceError;
    return FailureKind::Exception;
}

}  // namespace

TaskRunner::TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena,
                       const SharedDataset& dataset, const WorkerPlan& plan, Trainer& trainer, std::function<bool()> stopping,
                       bool own_process, std::function<void()> wait_for_device)
    : block_(block),
      board_(block, worker),
      wait_for_device_(wait_for_device ? std::move(wait_for_device)
                                       : [space = arena.space()] { aggregation::synchronize(space); }),
      worker_(
          block, worker, arena, dataset, plan, trainer, [this, asked = std::move(stopping)] { return withdrawn() || asked(); },
          own_process),
      train_(worker_),
      gradient_(worker_),
      replica_(worker_),
      evaluation_(worker_),
      aggregate_(worker_) {}

bool TaskRunner::run_one() {
    const std::optional<Claim> claim = board_.claim();
    if (!claim) return false;
    TaskCell& cell = block_.task(claim->task_index);
    at_work_ = &cell;
    TaskPhase phase = TaskPhase::Done;
    try {
        run(cell);
    } catch (const RankMissing& missing) {
        cell.failure = FailureKind::Hung;
        cell.error.set(missing.what());
        cell.missing_rank = static_cast<std::uint32_t>(missing.rank) + 1;
        phase = unfinished(cell);
    } catch (const std::exception& error) {
        cell.failure = kind_of(error);
        cell.error.set(error.what());
        phase = unfinished(cell);
    }
    cell.finished_ns = now_ns();
    board_.finish(*claim, phase);
    return true;
}

/// The phase of a task that failed or was withdrawn, reported only when the device is idle: enqueued work still writes to the
/// slot or the model, and the slot gets a new owner after the report.
TaskPhase TaskRunner::unfinished(TaskCell& cell) const {
    try {
        wait_for_device_();
    } catch (const std::exception& error) {
        // Reported for a withdrawn task, too: after a device error, this process cannot continue on the device.
        if (cell.failure != FailureKind::DeviceError) {
            cell.failure = FailureKind::DeviceError;
            cell.error.set(error.what());
        }
        return TaskPhase::Failed;
    }
    return withdrawn() ? TaskPhase::Idle : TaskPhase::Failed;
}

bool TaskRunner::withdrawn() const { return at_work_ != nullptr && at_work_->withdrawn.load(std::memory_order_acquire) != 0; }

void TaskRunner::run(TaskCell& cell) {
    worker_.supervision.expect_nothing();
    switch (cell.task.kind) {
        case TaskKind::Train:
            return train_.run(cell);
        case TaskKind::Gradient:
            return gradient_.run(cell.task);
        case TaskKind::InPlace:
            return train_in_place(worker_, cell.task);
        case TaskKind::Replica:
            return replica_.run(cell);
        case TaskKind::LowerHalf:
            return train_half(worker_, cell, Half::Lower);
        case TaskKind::UpperHalf:
            return train_half(worker_, cell, Half::Upper);
        case TaskKind::Evaluate:
            return evaluation_.evaluate(cell);
        case TaskKind::EvaluateClients:
        case TaskKind::EvaluatePersonalized:
            return evaluation_.evaluate_clients(cell.task);
        case TaskKind::Measure:
            return evaluation_.measure_clients(cell.task);
        case TaskKind::Aggregate:
            return aggregate_.run(cell.task);
        case TaskKind::Products:
            return take_products(worker_, cell.task);
        case TaskKind::CrossLosses:
            return take_losses(worker_, cell.task);
        case TaskKind::Empty:
            return;
    }
    throw Fault(fmt::format("unknown task kind {}", static_cast<std::uint32_t>(cell.task.kind)));
}

}  // namespace fedhive::clients
