#include "clients/training/local_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fedhive::clients {

namespace {

/// All local epochs. Returns the number of steps and the mean loss.
ClientResult run_epochs(TrainingStep& step, const LocalTraining& plan, ClientStart start, std::uint32_t round,
                        std::uint32_t client_id, std::span<const std::uint32_t> shard) {
    ClientResult result;
    Stream shuffling(plan.seed, Purpose::Shuffle, round, client_id);
    Stream dropout(plan.seed, Purpose::Dropout, round, client_id);
    std::vector<std::uint32_t> order(shard.begin(), shard.end());

    start.dropout_seed = dropout.next_u64();
    step.begin(start);
    for (std::uint64_t epoch = 0; epoch < plan.local_epochs; ++epoch) {
        shuffle(std::span(order), shuffling);
        for (std::size_t first = 0; first < order.size(); first += plan.batch_size) {
            step.step(std::span(order).subspan(first, std::min<std::size_t>(plan.batch_size, order.size() - first)));
            ++result.steps;
        }
    }
    result.train_loss = step.loss_sum() / static_cast<double>(plan.local_epochs * order.size());
    return result;
}

}  // namespace

ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = global;
    start.objective = objective;
    ClientResult result = run_epochs(step, plan, start, round, client_id, shard);

    const aggregation::UpdateSummary summary = aggregation::write_update(update, step.parameters(), global);
    result.finite = summary.finite ? 1 : 0;
    result.update_norm = summary.norm;
    result.update_hash = summary.hash;
    result.start_ns = start_ns;
    result.seconds = seconds_between(start_ns, now_ns());
    return result;
}

ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared) {
    const std::int64_t start_ns = now_ns();
    ClientStart start;
    start.global = shared;
    start.shared = RacyModel(shared);
    ClientResult result = run_epochs(step, plan, start, round, client_id, shard);

    result.finite = std::isfinite(result.train_loss) ? 1 : 0;
    result.start_ns = start_ns;
    result.seconds = seconds_between(start_ns, now_ns());
    return result;
}

}  // namespace fedhive::clients
