#include "clients/visit/local_training.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/visit/local_batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::clients {

namespace {

/// Runs all steps of all clients; a client without steps left rests. Writes the number of steps and the time of their batches to `results`; returns,
/// for each client, the examples of its steps whose targets count.
std::vector<double> run_steps(TrainingStep& step, const LocalTraining& plan, ClientStart start, std::uint32_t round,
                              std::span<const RowClient> clients, std::span<ClientResult> results) {
    const std::int64_t start_ns = now_ns();
    const double gathered_s = step.gather_s();
    std::vector<LocalBatches> of_client;
    std::vector<LocalBatches> one_ahead;  // a step's batch and the next may be of two passes, in two orders
    of_client.reserve(clients.size());
    std::uint64_t longest = 0, all = 0;
    for (const RowClient& client : clients) {
        of_client.emplace_back(plan, round, client.client_id, client.shard);
        if (plan.takes_next) one_ahead.emplace_back(plan, round, client.client_id, client.shard);
        longest = std::max(longest, of_client.back().num_steps());
        all += of_client.back().num_steps();
    }
    start.rows = clients.size();
    start.dropout_seed = of_client.front().dropout_seed();
    step.begin(start);
    std::vector<RowBatch> batches(clients.size());
    std::vector<double> seen(clients.size());
    for (std::size_t row = 0; plan.counted.all() && row < seen.size(); ++row)
        seen[row] = static_cast<double>(plan.examples_of(clients[row].shard.size()));
    for (std::uint64_t turn = 0; turn < longest; ++turn) {
        for (std::size_t row = 0; row < batches.size(); ++row) {
            batches[row] = of_client[row].next();
            if (!plan.takes_next) continue;
            const RowBatch next = one_ahead[row].at(turn + 1);
            batches[row].next = next.examples;
            batches[row].next_key = next.augmentation_key;
        }
        step.step_rows(batches);
        if (plan.counted.all()) continue;
        for (std::size_t row = 0; row < batches.size(); ++row) seen[row] += plan.counted.examples_in(batches[row].examples);
    }
    const double gather_s = step.gather_s() - gathered_s;
    for (std::size_t row = 0; row < clients.size(); ++row) {
        const std::uint64_t steps = of_client[row].num_steps();
        results[row] = {
            .steps = steps, .gather_s = static_cast<double>(steps) / static_cast<double>(all) * gather_s, .start_ns = start_ns};
    }
    return seen;
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

void enqueue_clients(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                     std::span<const RowClient> clients, aggregation::ConstParamSpan global, std::span<ClientResult> results) {
    ClientStart start;
    start.global = global;
    start.rate = rate;
    const std::vector<double> seen = run_steps(step, plan, start, round, clients, results);
    for (std::size_t row = 0; row < clients.size(); ++row) {
        step.loss_into(clients[row].figures->loss_sum, row);
        clients[row].figures->examples = seen[row];
    }
}

void mean_gradient(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                   std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                   aggregation::ParamSpan mean) {
    Stream dropout(plan.seed, Purpose::Dropout, round, client_id);
    dropout.next_u64();  // skips the local steps' seed
    ClientStart start;
    start.global = global;
    start.rate = rate;
    start.whole_gradients = true;
    start.dropout_seed = dropout.next_u64();
    step.begin(start);
    aggregation::set_zero(mean);
    const double all = plan.counted.examples_in(shard);
    for (std::size_t first = 0; first < shard.size(); first += plan.batch_size) {
        const std::size_t size = std::min<std::size_t>(plan.batch_size, shard.size() - first);
        const RowBatch batch{shard.subspan(first, size), {start.dropout_seed, 0}, shard.subspan(first + size)};
        const double counted = plan.counted.examples_in(batch.examples);
        if (counted == 0.0) continue;
        step.compute_gradients({&batch, 1});
        const double share = counted / all;
        step.for_each_piece([&](const GradientPiece& piece) {
            aggregation::add_scaled(mean.part(piece.first, piece.gradients.width), piece.gradients.row(0), share);
        });
    }
}

void tell_update(ClientResult& result, const aggregation::UpdateSummary& update) {
    result.finite = update.finite ? 1 : 0;
    result.update_norm = update.norm;
    result.update_hash = update.hash;
}

void finish(ClientResult& result, const ClientFigures& figures) {
    tell_update(result, aggregation::summary_of(figures.update));
    result.train_loss = mean_loss_of(figures.loss_sum, figures.examples);
}

void deal_out_time(std::span<ClientResult> results, double update_s, std::int64_t end_ns) {
    std::uint64_t steps = 0;
    for (const ClientResult& result : results) steps += result.steps;
    std::int64_t begun_ns = results.front().start_ns;
    const std::int64_t all_ns = end_ns - begun_ns;
    for (ClientResult& result : results) {
        const double share = static_cast<double>(result.steps) / static_cast<double>(steps);
        result.start_ns = begun_ns;
        result.seconds = share * seconds_between(0, all_ns);
        result.update_s = share * update_s;
        begun_ns += static_cast<std::int64_t>(share * static_cast<double>(all_ns));
    }
}

ClientResult train_client(TrainingStep& step, const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                          std::uint32_t client_id, std::span<const std::uint32_t> shard, aggregation::ConstParamSpan global,
                          aggregation::ParamSpan update) {
    aggregation::PinnedArray<ClientFigures> figures(update.space);
    figures.reserve(1);
    const RowClient client{client_id, shard, &figures[0]};
    ClientResult result;
    enqueue_clients(step, plan, rate, round, {&client, 1}, global, {&result, 1});
    const std::int64_t trained_ns = now_ns();
    aggregation::write_update(update, step.parameters(), global, figures[0].update);
    const double update_s = update.space == aggregation::MemorySpace::Host ? seconds_between(trained_ns, now_ns()) : 0.0;
    aggregation::synchronize(update.space);
    finish(result, figures[0]);
    deal_out_time({&result, 1}, update_s);
    return result;
}

ClientResult train_hogwild(TrainingStep& step, const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id,
                           std::span<const std::uint32_t> shard, aggregation::ParamSpan shared, float lr_factor) {
    ClientStart start;
    start.global = shared;
    start.shared = RacyModel(shared);
    start.rate.lr_factor = lr_factor;
    const RowClient client{client_id, shard};
    ClientResult result;
    const std::vector<double> seen = run_steps(step, plan, start, round, {&client, 1}, {&result, 1});
    result.train_loss = mean_loss_of(step.loss_sum(), seen.front());
    result.finite = std::isfinite(result.train_loss) ? 1 : 0;
    deal_out_time({&result, 1});
    return result;
}

}  // namespace fedhive::clients
