// The task whose clients are trained from their first step to their last without the host in between (whole_clients.h).
#include "aggregation/base/clock.h"
#include "aggregation/math/vector_ops.h"
#include "clients/training/task_runner.h"

namespace fedhive::clients {

/// Enqueued as one launch. What goes wrong on purpose goes wrong behind it: a worker dies in the middle of it, a NaN is one of its results.
void TaskRunner::train_whole(TaskCell& cell, WholeClients& whole, std::uint64_t first, std::uint64_t count) {
    const Task task = cell.task;
    const aggregation::ConstParamSpan global = model_of(aggregation::ConstParamSpan(arena_.global(task.global_index)));
    const aggregation::ParamSpan slot = model_of(arena_.slot(task.slot));
    const LocalTraining plan = plan_.training.of_repeat(task.repeat);
    Supervision supervision(self_, stopping_, own_process_);
    supervision.beat();
    supervision.throw_if_stopping();
    std::vector<WholeClient> clients;
    for (std::uint64_t place = first; place < first + count; ++place) {
        const std::uint64_t member = task.first + place;
        if (block_.members()[member].left_out != 0) continue;
        const std::uint32_t client_id = client_of(member);
        clients.push_back({client_id, dataset_.shard(client_id), &figures_[place].loss_sum});
        figures_[place].examples = static_cast<double>(plan.examples_of(dataset_.shard(client_id).size()));
        block_.results()[member] = {.steps = plan.steps_of(dataset_.shard(client_id).size()), .start_ns = now_ns()};
    }
    whole.train(plan, task.objective, task.round, clients, global);
    std::size_t row = 0;
    for (std::uint64_t place = first; place < first + count; ++place) {
        const Member& member = block_.members()[task.first + place];
        cell.members_done.store(place, std::memory_order_relaxed);  // should it be to blame
        if (member.left_out != 0) {
            slot_sum_.skip();
            continue;
        }
        const aggregation::ParamSpan local = whole.parameters(row++);
        if (member.fault.at_update == 0) supervision.fire(member.fault, local);
        upload_.apply(local, global, plan.seed, task.round, member.client_id, residual_of(task, member.client_id));
        if (task.count > 1)
            slot_sum_.add_update(local, global, member.weight, figures_[place].update);
        else
            aggregation::write_update(slot, local, global, figures_[place].update);
        if (task.payload == Payload::Model) aggregation::copy(slot, local);
        supervision.beat();
        if (member.fault.at_update != 0) supervision.fire(member.fault, local);
    }
    cell.members_done.store(first + count, std::memory_order_relaxed);
}

}  // namespace fedhive::clients
