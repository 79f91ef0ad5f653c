#include "clients/training/batched_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

namespace {

/// A client's batches, one after the other, as train_client takes them.
class Batches {
public:
    Batches(const LocalTraining& plan, std::uint32_t round, const RowClient& client)
        : shuffling_(plan.seed, Purpose::Shuffle, round, client.client_id),
          order_(client.shard.begin(), client.shard.end()),
          batch_size_(plan.batch_size),
          epochs_left_(plan.local_epochs) {}

    /// Empty after the last one. Valid until the next call.
    RowBatch next() {
        if (first_ == 0) {
            if (epochs_left_ == 0) return {};
            --epochs_left_;
            shuffle(std::span(order_), shuffling_);
        }
        const RowBatch batch = RowBatch(order_).subspan(first_, std::min<std::size_t>(batch_size_, order_.size() - first_));
        first_ = first_ + batch.size() < order_.size() ? first_ + batch.size() : 0;
        return batch;
    }

private:
    Stream shuffling_;
    std::vector<std::uint32_t> order_;
    std::uint64_t batch_size_;
    std::uint64_t epochs_left_;
    std::size_t first_ = 0;  // of the next batch
};

/// All steps of all clients; who has none left rests.
void run_steps(BatchedStep& step, const LocalTraining& plan, std::uint32_t round, std::span<const RowClient> clients) {
    std::vector<Batches> of_client;
    std::uint64_t steps = 0;
    for (const RowClient& client : clients) {
        of_client.emplace_back(plan, round, client);
        steps = std::max(steps, plan.steps_of(client.shard.size()));
    }
    std::vector<RowBatch> batches(clients.size());
    for (; steps > 0; --steps) {
        std::transform(of_client.begin(), of_client.end(), batches.begin(), [](Batches& one) { return one.next(); });
        step.step(batches);
    }
}

}  // namespace

std::vector<std::size_t> places_of_rows(const LocalTraining& plan, std::span<const RowClient> clients) {
    std::vector<std::size_t> places(clients.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        return plan.steps_of(clients[a].shard.size()) > plan.steps_of(clients[b].shard.size());
    });
    return places;
}

std::vector<ClientResult> train_clients(BatchedStep& step, const LocalTraining& plan, const Objective& objective,
                                        std::uint32_t round, std::span<const RowClient> clients,
                                        aggregation::ConstParamSpan global) {
    const std::int64_t start_ns = now_ns();
    const double gather_before_s = step.gather_s();
    BatchedStart start;
    start.rows = clients.size();
    start.global = global;
    start.objective = objective;
    start.dropout_seed = Stream(plan.seed, Purpose::Dropout, round, clients.front().client_id).next_u64();
    step.begin(start);
    run_steps(step, plan, round, clients);

    std::vector<ClientResult> results(clients.size());
    std::vector<double> losses(clients.size());
    step.loss_sums(losses);
    std::uint64_t all_steps = 0;
    const std::int64_t trained_ns = now_ns();
    for (std::size_t row = 0; row < clients.size(); ++row) {
        const std::size_t num_examples = clients[row].shard.size();
        const aggregation::UpdateSummary summary =
            aggregation::write_update(step.parameters(row), step.parameters(row), global);
        results[row] = {.steps = plan.steps_of(num_examples),
                        .train_loss = losses[row] / static_cast<double>(plan.local_epochs * num_examples),
                        .update_norm = summary.norm,
                        .update_hash = summary.hash,
                        .finite = summary.finite ? 1U : 0U};
        all_steps += results[row].steps;
    }
    const std::int64_t written_ns = now_ns(), all_ns = written_ns - start_ns;
    const double gather_s = step.gather_s() - gather_before_s;
    const bool on_host = global.space == aggregation::MemorySpace::Host;
    const double update_s = on_host ? seconds_between(trained_ns, written_ns) : 0.0;
    std::int64_t begun_ns = start_ns;
    for (ClientResult& result : results) {
        const double share = static_cast<double>(result.steps) / static_cast<double>(all_steps);
        result.start_ns = begun_ns;
        result.seconds = share * seconds_between(0, all_ns);
        result.gather_s = share * gather_s;
        result.update_s = share * update_s;
        begun_ns += static_cast<std::int64_t>(share * static_cast<double>(all_ns));
    }
    return results;
}

}  // namespace fedhive::clients
