#include "clients/training/local_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/training/local_batches.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

/// All local steps. Returns their number, and what their batches took.
ClientResult run_steps(TrainingStep& step, const LocalTraining& plan, ClientStart start, std::uint32_t round,
                       std::uint32_t client_id, std::span<const std::uint32_t> shard) {
    ClientResult result;
    const double gather_s = step.gather_s();
    LocalBatches batches(plan, round, client_id, shard);
    Stream dropout(plan.seed, Purpose::Dropout, round, client_id);

    start.dropout_seed = dropout.next_u64();
    step.begin(start);
    for (auto batch = batches.next(); !batch.empty(); batch = batches.next()) {
        if (batches.begins_epoch()) step.begin_epoch(batches.epoch());
        step.step(batch);
        ++result.steps;
    }
    result.gather_s = step.gather_s() - gather_s;
    return result;
}

}  // namespace

ClientResult enqueue_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                            std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                            ClientFigures& figures) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = global;
    start.objective = objective;
    ClientResult result = run_steps(step, plan, start, round, client_id, shard);
    result.start_ns = start_ns;
    step.loss_sum_into(figures.loss_sum);
    figures.examples = static_cast<double>(plan.examples_of(shard.size()));
    return result;
}

void mean_gradient(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                   std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                   aggregation::ParamSpan mean) {
    Stream dropout(plan.seed, Purpose::Dropout, round, client_id);
    dropout.next_u64();  // the local steps'
    ClientStart start;
    start.global = global;
    start.objective = objective;
    start.dropout_seed = dropout.next_u64();
    step.begin(start);
    aggregation::set_zero(mean);
    for (std::size_t first = 0; first < shard.size(); first += plan.batch_size) {
        const auto batch = shard.subspan(first, std::min<std::size_t>(plan.batch_size, shard.size() - first));
        step.compute_gradient(batch);
        aggregation::add_scaled(mean, step.gradient(), static_cast<double>(batch.size()) / static_cast<double>(shard.size()));
    }
}

ClientResult finished(ClientResult result, const ClientFigures& figures) {
    const aggregation::UpdateSummary summary = aggregation::summary_of(figures.update);
    result.finite = summary.finite ? 1 : 0;
    result.update_norm = summary.norm;
    result.update_hash = summary.hash;
    result.train_loss = figures.loss_sum / figures.examples;
    result.seconds = seconds_between(result.start_ns, now_ns());
    return result;
}

ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update, UploadChain* upload, const Residual& residual) {
    aggregation::PinnedArray<ClientFigures> figures(update.space);
    figures.reserve(1);
    ClientResult result = enqueue_client(step, plan, objective, round, client_id, shard, global, figures[0]);
    const std::int64_t trained_ns = now_ns();
    if (upload != nullptr) upload->apply(step.parameters(), global, plan.seed, round, client_id, residual);
    aggregation::write_update(update, step.parameters(), global, figures[0].update);
    if (update.space == aggregation::MemorySpace::Host) result.update_s = seconds_between(trained_ns, now_ns());
    aggregation::synchronize(update.space);
    return finished(result, figures[0]);
}

ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared, float lr_factor) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = shared;
    start.shared = RacyModel(shared);
    start.objective.lr_factor = lr_factor;
    ClientResult result = run_steps(step, plan, start, round, client_id, shard);

    result.train_loss = step.loss_sum() / static_cast<double>(plan.examples_of(shard.size()));
    result.finite = std::isfinite(result.train_loss) ? 1 : 0;
    result.start_ns = start_ns;
    result.seconds = seconds_between(start_ns, now_ns());
    return result;
}

}  // namespace fedhive::clients
