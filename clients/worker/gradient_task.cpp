#include "clients/worker/gradient_task.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

/// The batch of the client's local step task.step, in the order of enqueue_clients().
RowBatch GradientTask::batch_of(const Task& task, std::uint32_t client_id) {
    auto found = batches_.find(client_id);
    if (found == batches_.end() || found->second.round != task.round) {
        const LocalBatches of_round(worker_.training, task.round, client_id, worker_.dataset.shard(client_id));
        found = batches_.insert_or_assign(client_id, RoundBatches{task.round, of_round}).first;
    }
    return found->second.batches.at(task.step);
}

/// The step's number is part of dropout's key, so that the draws depend neither on the worker nor on earlier steps.
void GradientTask::run(const Task& task) {
    const std::int64_t start_ns = now_ns();
    const std::uint32_t client_id = worker_.client_of(task.first);
    RowBatch batch = batch_of(task, client_id);
    ClientStart start;
    start.global = worker_.arena.global(task.global_index);
    start.rate = task.rate;
    start.dropout_seed =
        Stream(batch.augmentation_key.seed, Purpose::Dropout, static_cast<std::uint32_t>(task.step)).next_u64();
    batch.augmentation_key = {start.dropout_seed, 0};
    batch.lookahead = {};  // any worker may compute the next step
    TrainingStep& step = worker_.step;
    worker_.supervision.expect(worker_.block.members()[task.first].fault);
    const double gather_s = step.gather_s();
    step.begin(start);
    step.compute_gradients({&batch, 1});

    const std::int64_t computed_ns = now_ns();
    const aggregation::ParamSpan slot = worker_.arena.slot(task.slot);
    aggregation::set_zero(slot);
    step.for_each_piece([&](const GradientPiece& piece) {
        aggregation::copy(slot.part(piece.first, piece.gradients.width), piece.gradients.row(0));
    });
    ClientResult result{.steps = 1,
                        .train_loss = mean_loss_of(step.loss_sum(), worker_.training.counted.examples_in(batch.examples)),
                        .gather_s = step.gather_s() - gather_s,
                        .start_ns = start_ns};
    tell_update(result, worker_.summary_of(slot));
    deal_out_time({&result, 1}, worker_.on_device() ? 0.0 : seconds_between(computed_ns, now_ns()));
    worker_.accept(task.first, result);
    worker_.supervision.update_written(0, step.parameters());
}

}  // namespace fedhive::clients
