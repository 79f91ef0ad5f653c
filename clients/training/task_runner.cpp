#include "clients/training/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

namespace {

/// A task's numbers come from shared memory: what does not fit is refused, not followed.
void require(bool holds, const char* what) {
    if (!holds) throw Fault(fmt::format("the task's {} is beyond what there is", what));
}

FailureKind kind_of(const std::exception& error) {
    if (const auto* failed = dynamic_cast<const TaskFailed*>(&error)) return failed->kind;
    if (dynamic_cast<const OutOfMemory*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return FailureKind::OutOfMemory;
    if (dynamic_cast<const DeviceFault*>(&error) != nullptr) return FailureKind::DeviceError;
    return FailureKind::Exception;
}

}  // namespace

TaskRunner::TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena,
                       const SharedDataset& dataset, const LocalTraining& plan, TrainingStep& step, Evaluation& evaluation,
                       std::function<bool()> stopping, bool own_process)
    : block_(block),
      board_(block, worker),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      step_(step, block.worker(worker), std::move(stopping), own_process),
      evaluation_(evaluation),
      slot_sum_(arena.geometry().num_floats, arena.space()) {}

bool TaskRunner::run_one() {
    const std::optional<Claim> claim = board_.claim();
    if (!claim) return false;
    TaskCell& cell = block_.task(claim->task_index);
    TaskPhase phase = TaskPhase::Done;
    try {
        run(cell);
    } catch (const std::exception& error) {
        cell.failure = kind_of(error);
        cell.error.set(error.what());
        phase = TaskPhase::Failed;
    }
    cell.finished_ns = now_ns();
    board_.finish(*claim, phase);
    return true;
}

void TaskRunner::run(TaskCell& cell) {
    switch (cell.task.kind) {
        case TaskKind::Train:
            return train(cell);
        case TaskKind::Evaluate:
            return evaluate(cell);
        case TaskKind::Empty:
            return;
        case TaskKind::Nobodys:
            break;
    }
    throw Fault(fmt::format("unknown task kind {}", static_cast<std::uint32_t>(cell.task.kind)));
}

void TaskRunner::train(TaskCell& cell) {
    const Task task = cell.task;
    require(task.count >= 1 && task.first < block_.members().size() && task.count <= block_.members().size() - task.first,
            "last member");
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    const bool several = task.count > 1;
    if (several) {
        if (update_.span().size == 0) update_ = aggregation::ParamBuffer(slot.size, slot.space);
        slot_sum_.zero_init();
    }
    for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
        const Member& member = block_.members()[i];
        cell.started_ns.store(now_ns(), std::memory_order_relaxed);  // the deadline is one client's, not the slot's
        if (member.left_out != 0) {
            slot_sum_.skip();
        } else {
            const aggregation::ParamSpan update = several ? update_.span() : slot;
            train_member(task, i, update);
            if (several) slot_sum_.add(update, member.weight);
        }
        cell.members_done.fetch_add(1, std::memory_order_relaxed);
    }
    if (several) slot_sum_.finish(slot);
    aggregation::synchronize(slot.space);
}

void TaskRunner::train_member(const Task& task, std::uint64_t member, aggregation::ParamSpan update) {
    const std::uint32_t client_id = block_.members()[member].client_id;
    require(client_id < dataset_.map().num_clients, "client");
    step_.expect(block_.members()[member].fault);
    const ClientResult result = train_client(step_, plan_, task.objective, task.round, client_id, dataset_.shard(client_id),
                                             arena_.global(task.global_index), update);
    block_.results()[member] = result;
    if (result.finite == 0)
        throw TaskFailed(FailureKind::NonFinite,
                         "the update holds a NaN or an infinity; a smaller training.optimizer.lr usually helps");
    if (plan_.max_update_norm > 0.0 && result.update_norm > plan_.max_update_norm)
        throw TaskFailed(FailureKind::NonFinite, fmt::format("the update's norm is {:.6g}, failures.max_update_norm is {:.6g}",
                                                             result.update_norm, plan_.max_update_norm));
    step_.update_written();
}

void TaskRunner::evaluate(TaskCell& cell) {
    const std::uint64_t total = dataset_.map().num_test;
    require(cell.task.first <= total && cell.task.count <= total - cell.task.first, "last test example");
    cell.evaluation = evaluation_.evaluate(arena_.global(cell.task.global_index), cell.task.first, cell.task.count);
}

}  // namespace fedhive::clients
