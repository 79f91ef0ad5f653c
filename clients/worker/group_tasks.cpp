// The tasks that several workers share: a replica of a group, a half of a split model.
#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/visit/replica_training.h"
#include "clients/worker/arena_channel.h"
#include "clients/worker/task_runner.h"

namespace fedhive::clients {

namespace {

/// Until all of a group have come, which may take as long as a worker takes to start; who is missing then, the coordinator finds out.
constexpr double kPatience = 1e6;

/// A wait in the middle gives up before the task's own deadline, so that the one who holds the others up is found, and not they.
double wait_s(const Task& task) { return task.deadline_s / 2; }

}  // namespace

/// Asked while a group waits: its deadline begins when all have come.
std::function<bool()> TaskRunner::stopping_or_gathering(TaskCell& cell, const bool& gathered) const {
    return [this, &cell, &gathered] {
        if (!gathered) cell.started_ns.store(now_ns(), std::memory_order_relaxed);
        return stopping_();
    };
}

void TaskRunner::train_replica(TaskCell& cell) {
    const Task task = cell.task;
    client_of(task.first);
    const auto ranks = block_.ranks();
    if (task.num_ranks > ranks.size() || task.slot >= task.num_ranks)
        throw Fault("the task's group of ranks is beyond what there is");
    std::vector<aggregation::ParamSpan> slots;
    for (std::uint32_t rank = 0; rank < task.num_ranks; ++rank) slots.push_back(arena_.slot(rank));
    const aggregation::ParamSpan slot = slots[task.slot];
    bool gathered = false;
    Communicator group({ranks.first(task.num_ranks), task.slot, slots, kPatience, stopping_or_gathering(cell, gathered)});
    group.barrier();
    gathered = true;
    group.set_deadline(wait_s(task));
    const SumOverRanks sum_over_ranks = [&](aggregation::ParamSpan gradient) {
        aggregation::copy(slot.first(gradient.size), gradient);
        // Once it is summed, nobody knows any more whose it was.
        if (!summary_of(slot.first(gradient.size)).finite) throw not_finite("a gradient", task.first);
        group.all_reduce(gradient.size, plan_.all_reduce);
        aggregation::copy(gradient, slot.first(gradient.size));
    };
    if (velocity_.span().size != step_.optimizer_state().size)
        velocity_ = aggregation::ParamBuffer(step_.optimizer_state().size, arena_.space());
    if (velocity_.span().size > 0)
        aggregation::copy(velocity_, arena_.global(task.velocity_index).first(velocity_.span().size));
    step_.expect(block_.members()[task.first].fault);
    accept(task.first, clients::train_replica(step_, sum_over_ranks, training_, task.round, {task.slot, task.num_ranks},
                                              dataset_.map().num_train, arena_.global(task.global_index), slot, velocity_,
                                              task.objective.lr_factor));
    step_.update_written();
    // Slot 0 holds the model, slot 1 the momentum that goes with it.
    if (task.slot == 1 % task.num_ranks) aggregation::copy(arena_.slot(1).first(velocity_.span().size), velocity_);
    aggregation::synchronize(slot.space);
}

void TaskRunner::train_half(TaskCell& cell, Half half) {
    const Task task = cell.task;
    const std::uint32_t client_id = client_of(task.first);
    const auto ranks = block_.ranks();
    if (2 * std::uint64_t{task.slot} + 2 > ranks.size()) throw Fault("the task's pair of ranks is beyond what there is");
    const bool upper = half == Half::Upper;
    const auto part = [&](auto whole) { return upper ? plan_.cut.server_part(whole) : plan_.cut.client_part(whole); };
    bool gathered = false;
    RankGroup pair(ranks.subspan(2 * task.slot, 2), upper ? 1 : 0, kPatience, stopping_or_gathering(cell, gathered));
    pair.begin("barrier");
    pair.publish(1);
    pair.await(upper ? 0 : 1, 1);
    gathered = true;
    pair.set_deadline(wait_s(task));
    pair.begin("split");
    ArenaChannel channel(pair, arena_.exchange(task.slot));
    const std::unique_ptr<TrainingStep> inner = trainer_.half(half, channel);
    LocalStep local(*inner);
    SupervisedStep step(local, self_, stopping_, own_process_);
    const aggregation::ParamSpan slot = arena_.slot(task.slot);
    if (!upper) step.expect(block_.members()[task.first].fault);
    ClientResult result = train_client(step, training_, task.objective, task.round, client_id, dataset_.shard(client_id),
                                       part(aggregation::ConstParamSpan(arena_.global(task.global_index))), part(slot));
    aggregation::synchronize(slot.space);
    if (upper) return channel.send_loss(result.train_loss);
    result.train_loss = channel.receive_loss();
    tell_update(result, summary_of(slot));  // of both parts
    accept(task.first, result);
    step.update_written();
}

}  // namespace fedhive::clients
