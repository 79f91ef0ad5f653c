#include "clients/training/local_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fedhive::clients {

namespace {

/// All local epochs. Returns the number of steps, and what their batches took.
ClientResult run_epochs(TrainingStep& step, const LocalTraining& plan, ClientStart start, std::uint32_t round,
                        std::uint32_t client_id, std::span<const std::uint32_t> shard) {
    ClientResult result;
    const double gather_s = step.gather_s();
    Stream shuffling(plan.seed, Purpose::Shuffle, round, client_id);
    Stream dropout(plan.seed, Purpose::Dropout, round, client_id);
    std::vector<std::uint32_t> order(shard.begin(), shard.end());

    start.dropout_seed = dropout.next_u64();
    step.begin(start);
    for (std::uint64_t epoch = 0; epoch < plan.local_epochs; ++epoch) {
        shuffle(std::span(order), shuffling);
        step.begin_epoch(order);
        for (std::size_t first = 0; first < order.size(); first += plan.batch_size) {
            step.step(std::span(order).subspan(first, std::min<std::size_t>(plan.batch_size, order.size() - first)));
            ++result.steps;
        }
    }
    result.gather_s = step.gather_s() - gather_s;
    return result;
}

double examples_seen(const LocalTraining& plan, std::span<const std::uint32_t> shard) {
    return static_cast<double>(plan.local_epochs * shard.size());
}

}  // namespace

ClientResult enqueue_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                            std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                            ClientFigures& figures) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = global;
    start.objective = objective;
    ClientResult result = run_epochs(step, plan, start, round, client_id, shard);
    result.start_ns = start_ns;
    step.loss_sum_into(figures.loss_sum);
    figures.examples = examples_seen(plan, shard);
    return result;
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
                          aggregation::ParamSpan update) {
    aggregation::PinnedArray<ClientFigures> figures(update.space);
    figures.reserve(1);
    ClientResult result = enqueue_client(step, plan, objective, round, client_id, shard, global, figures[0]);
    const std::int64_t trained_ns = now_ns();
    aggregation::write_update(update, step.parameters(), global, figures[0].update);
    if (update.space == aggregation::MemorySpace::Host) result.update_s = seconds_between(trained_ns, now_ns());
    aggregation::synchronize(update.space);
    return finished(result, figures[0]);
}

ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = shared;
    start.shared = RacyModel(shared);
    ClientResult result = run_epochs(step, plan, start, round, client_id, shard);

    result.train_loss = step.loss_sum() / examples_seen(plan, shard);
    result.finite = std::isfinite(result.train_loss) ? 1 : 0;
    result.start_ns = start_ns;
    result.seconds = seconds_between(start_ns, now_ns());
    return result;
}

}  // namespace fedhive::clients
