#include "clients/training/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

TaskRunner::TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena,
                       const SharedDataset& dataset, const LocalTraining& plan, TrainingStep& step, Evaluation& evaluation)
    : block_(block),
      board_(block, worker),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      step_(step),
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
    }
    throw Fault(fmt::format("unknown task kind {}", static_cast<std::uint32_t>(cell.task.kind)));
}

void TaskRunner::train(TaskCell& cell) {
    const Task& task = cell.task;
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    const aggregation::ParamSpan global = arena_.global(task.global_index);
    const bool several = task.count > 1;
    if (several) {
        if (update_.span().size == 0) update_ = aggregation::ParamBuffer(slot.size, slot.space);
        slot_sum_.zero_init();
    }
    for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
        const Member& member = block_.members()[i];
        const aggregation::ParamSpan update = several ? update_.span() : slot;
        block_.results()[i] = train_client(step_, plan_, task.objective, task.round, member.client_id,
                                           dataset_.shard(member.client_id), global, update);
        if (several) slot_sum_.add(update, member.weight);
        cell.members_done.fetch_add(1, std::memory_order_relaxed);
    }
    if (several) slot_sum_.finish(slot);
    aggregation::synchronize(slot.space);
}

void TaskRunner::evaluate(TaskCell& cell) {
    cell.evaluation = evaluation_.evaluate(arena_.global(cell.task.global_index), cell.task.first, cell.task.count);
}

}  // namespace fedhive::clients
