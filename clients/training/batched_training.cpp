#include "clients/training/batched_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "clients/training/local_batches.h"

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

namespace {

/// All steps of all clients; who has none left rests.
void run_steps(BatchedStep& step, const LocalTraining& plan, std::uint32_t round, std::span<const RowClient> clients) {
    std::vector<LocalBatches> of_client;
    std::vector<std::uint64_t> look_seeds;
    std::uint64_t steps = 0;
    for (const RowClient& client : clients) {
        of_client.emplace_back(plan, round, client.client_id, client.shard);
        look_seeds.push_back(Stream(plan.seed, Purpose::Dropout, round, client.client_id).next_u64());
        steps = std::max(steps, plan.steps_of(client.shard.size()));
    }
    std::vector<RowBatch> batches(clients.size());
    for (; steps > 0; --steps) {
        for (std::size_t row = 0; row < batches.size(); ++row) {
            const std::span<const std::uint32_t> batch = of_client[row].next();
            batches[row] = {batch, {look_seeds[row], of_client[row].epoch_index()}};
        }
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
                                        aggregation::ConstParamSpan global, UploadChain* upload) {
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
        if (upload != nullptr) upload->apply(step.parameters(row), global, plan.seed, round, clients[row].client_id);
        const aggregation::UpdateSummary summary =
            aggregation::write_update(step.parameters(row), step.parameters(row), global);
        results[row] = {.steps = plan.steps_of(num_examples),
                        .train_loss = losses[row] / static_cast<double>(plan.examples_of(num_examples)),
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
