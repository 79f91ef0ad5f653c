#include "clients/visit/replica_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <vector>

namespace fedhive::clients {

ClientResult train_replica(TrainingStep& step, const SumOverRanks& sum_over_ranks, const LocalTraining& plan,
                           std::uint32_t round, const Rank& rank, std::size_t num_examples, aggregation::ConstParamSpan global,
                           aggregation::ParamSpan model, aggregation::ParamSpan velocity, float lr_factor) {
    const std::int64_t start_ns = now_ns();
    ClientResult result;
    ClientStart start;
    start.global = global;
    start.dropout_seed = Stream(plan.seed, Purpose::Dropout, round, rank.index).next_u64();
    start.rate.lr_factor = lr_factor;
    start.optimizer_state = velocity;
    OneRow& only = *step.one_row();
    double seen = 0.0;
    const double gather_s = step.gather_s();

    step.begin(start);
    for (std::uint64_t pass = 0; pass < plan.local_epochs; ++pass) {
        const auto epoch = static_cast<std::uint32_t>(round * plan.local_epochs + pass);
        const std::vector<std::uint32_t> sample = distributed_sample(num_examples, plan.seed, epoch, rank);
        for (std::size_t first = 0; first < sample.size(); first += plan.batch_size) {
            const std::span<const std::uint32_t> from_here = std::span(sample).subspan(first);
            const std::size_t size = std::min<std::size_t>(plan.batch_size, from_here.size());
            const RowBatch batch{
                from_here.first(size), {start.dropout_seed, static_cast<std::uint32_t>(pass)}, from_here.subspan(size)};
            step.compute_gradients({&batch, 1});
            sum_over_ranks(only.gradient());
            aggregation::scale(only.gradient(), only.gradient(), 1.0 / rank.size);
            step.apply_gradients();
            ++result.steps;
        }
        seen += plan.counted.examples_in(sample);
    }
    result.train_loss = mean_loss_of(step.loss_sum(), seen);
    result.gather_s = step.gather_s() - gather_s;

    const std::int64_t trained_ns = now_ns();
    aggregation::copy(velocity, only.optimizer_state());
    aggregation::copy(model, step.parameters());
    // The local model is not needed any more: it takes the difference.
    tell_update(result, aggregation::write_update(step.parameters(), model, global));
    const bool on_host = model.space == aggregation::MemorySpace::Host;
    result.start_ns = start_ns;
    deal_out_time({&result, 1}, on_host ? seconds_between(trained_ns, now_ns()) : 0.0);
    return result;
}

}  // namespace fedhive::clients
