#include "clients/worker/group_tasks.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/models/model_plan.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/replica_training.h"
#include "clients/worker/arena_channel.h"

namespace fedhive::clients {

namespace {

/// Until all of a group have come, which may take as long as a worker takes to start; who is missing then, the coordinator finds out.
constexpr double kPatience = 1e6;

/// A wait in the middle gives up before the task's own deadline, so that the one who holds the others up is found, and not they.
double wait_s(const Task& task) { return task.deadline_s / 2; }

/// Asked while a group waits: its deadline begins when all have come.
std::function<bool()> stopping_or_gathering(const WorkerContext& worker, TaskCell& cell, const bool& gathered) {
    return [&worker, &cell, &gathered] {
        if (!gathered) cell.started_ns.store(now_ns(), std::memory_order_relaxed);
        return worker.stopping();
    };
}

}  // namespace

void ReplicaTask::run(TaskCell& cell) {
    const Task task = cell.task;
    worker_.client_of(task.first);
    const auto ranks = worker_.block.ranks();
    if (task.num_ranks > ranks.size() || task.slot >= task.num_ranks)
        throw Fault("the task's group of ranks is beyond what there is");
    std::vector<aggregation::ParamSpan> slots;
    for (std::uint32_t rank = 0; rank < task.num_ranks; ++rank) slots.push_back(worker_.arena.slot(rank));
    const aggregation::ParamSpan slot = slots[task.slot];
    bool gathered = false;
    Communicator group(
        {ranks.first(task.num_ranks), task.slot, slots, kPatience, stopping_or_gathering(worker_, cell, gathered)});
    group.barrier();
    gathered = true;
    group.set_deadline(wait_s(task));
    const SumOverRanks sum_over_ranks = [&](aggregation::ParamSpan gradient) {
        aggregation::copy(slot.first(gradient.size), gradient);
        // Checked before the sum, which no longer tells whose gradient was not finite.
        if (!worker_.summary_of(slot.first(gradient.size)).finite) throw worker_.not_finite("a gradient", task.first);
        group.all_reduce(gradient.size, worker_.plan.all_reduce);
        aggregation::copy(gradient, slot.first(gradient.size));
    };
    const std::size_t state = worker_.step.one_row()->optimizer_state().size;
    if (velocity_.span().size != state) velocity_ = aggregation::ParamBuffer(state, worker_.arena.space());
    if (velocity_.span().size > 0)
        aggregation::copy(velocity_, worker_.arena.global(task.velocity_index).first(velocity_.span().size));
    worker_.supervision.expect(worker_.block.members()[task.first].fault);
    worker_.accept(task.first,
                   clients::train_replica(worker_.step, sum_over_ranks, worker_.training, task.round,
                                          {task.slot, task.num_ranks}, worker_.dataset.map().num_train,
                                          worker_.arena.global(task.global_index), slot, velocity_, task.rate.lr_factor));
    worker_.supervision.update_written(0, worker_.step.parameters());
    // Slot 0 holds the model, slot 1 the momentum that goes with it.
    if (task.slot == 1 % task.num_ranks) aggregation::copy(worker_.arena.slot(1).first(velocity_.span().size), velocity_);
    aggregation::synchronize(slot.space);
}

void train_half(WorkerContext& worker, TaskCell& cell, Half half) {
    const Task task = cell.task;
    const std::uint32_t client_id = worker.client_of(task.first);
    const auto ranks = worker.block.ranks();
    if (2 * std::uint64_t{task.slot} + 2 > ranks.size()) throw Fault("the task's pair of ranks is beyond what there is");
    const bool upper = half == Half::Upper;
    const auto part = [&](auto whole) {
        return upper ? worker.plan.cut.server_part(whole) : worker.plan.cut.client_part(whole);
    };
    bool gathered = false;
    RankGroup pair(ranks.subspan(2 * task.slot, 2), upper ? 1 : 0, kPatience, stopping_or_gathering(worker, cell, gathered));
    pair.begin("barrier");
    pair.publish(1);
    pair.await(upper ? 0 : 1, 1);
    gathered = true;
    pair.set_deadline(wait_s(task));
    pair.begin("split");
    ArenaChannel channel(pair, worker.arena.exchange(task.slot));
    const std::unique_ptr<TrainingStep> inner = worker.trainer.half(half, channel);
    LocalStep local(*inner);
    std::optional<FormulaVisit> formulas;
    if (!worker.plan.method.empty()) {
        const std::uint64_t examples = worker.dataset.shard(client_id).size();
        formulas.emplace(worker.plan.method, worker.plan.memories, model_layout(worker.plan.model), worker.local_part,
                         worker.plan.reports, worker.arena.space());
        formulas->begin(
            worker.memories_of(task, client_id), worker.global_model(task),
            VisitFacts::of(task.round, examples, worker.training.steps_of(examples), worker.plan.optimizer, task.rate));
        formulas->add_to(local, upper ? worker.plan.cut.offset : 0);
    }
    SupervisedStep step(local, worker.supervision);
    const aggregation::ParamSpan slot = worker.arena.slot(task.slot);
    if (!upper) worker.supervision.expect(worker.block.members()[task.first].fault);
    ClientResult result = train_client(step, worker.training, task.rate, task.round, client_id, worker.dataset.shard(client_id),
                                       part(aggregation::ConstParamSpan(worker.arena.global(task.global_index))), part(slot));
    aggregation::synchronize(slot.space);
    if (upper) return channel.send_loss(result.train_loss);
    result.train_loss = channel.receive_loss();
    tell_update(result, worker.summary_of(slot));  // of both parts
    worker.accept(task.first, result);
    worker.supervision.update_written(0, step.parameters());
}

}  // namespace fedhive::clients
