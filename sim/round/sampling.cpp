#include "sim/round/sampling.h"

#include "aggregation/base/error.h"
#include "clients/data/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedhive::sim {

namespace {

Candidates candidates_at(double now_s, std::uint64_t num_clients, const Cohort& busy, const Devices& devices,
                         const AskMeasure& ask) {
    if (devices.always_available()) return Candidates(num_clients, busy, {}, ask);
    return Candidates(
        num_clients, busy, [&devices, now_s](std::uint32_t client) { return devices.available(client, now_s); }, ask);
}

double next_time_somebody_is_there(const Sampler& sampler, std::uint64_t num_clients, const Devices& devices, double now_s) {
    double next = std::numeric_limits<double>::infinity();
    for (std::uint32_t client = 0; client < num_clients; ++client)
        if (sampler.asks(client)) next = std::min(next, devices.next_available_s(client, now_s));
    if (std::isinf(next))
        throw Fault(fmt::format(
            "after {:.1f} s of simulated time no client is ever available again (devices.availability.trace)", now_s));
    return next;
}

}  // namespace

std::unique_ptr<Sampler> make_sampler(const RunConfig& run, const clients::SharedDataset& dataset) {
    const SamplerSpec& spec = sampler_spec(run.sampling.name);
    std::vector<std::uint64_t> num_examples(dataset.map().num_clients);
    for (std::size_t client = 0; client < num_examples.size(); ++client) num_examples[client] = dataset.shard(client).size();
    std::vector<std::vector<std::uint64_t>> label_counts;
    if (spec.by_labels)
        for (std::size_t client = 0; client < num_examples.size(); ++client)
            label_counts.push_back(clients::label_counts(dataset.shard(client), dataset.train(), dataset.map().num_classes));
    return spec.build(
        {.values = completed(run.sampling.values, spec.keys), .num_examples = num_examples, .label_counts = label_counts});
}

std::uint64_t most_measured(const RunConfig& run, std::uint64_t num_clients) {
    const SamplerSpec& spec = sampler_spec(run.sampling.name);
    if (spec.measured == nullptr) return 0;
    const auto cohort = static_cast<std::uint64_t>(run.cohort_size());
    return std::min(num_clients, spec.measured(completed(run.sampling.values, spec.keys), cohort));
}

Cohort sample_idle(Sampler& sampler, std::uint64_t num_clients, const Cohort& busy, std::size_t count, const Stream& stream,
                   const Devices& devices, double& now_s, const AskMeasure& ask) {
    Cohort cohort = sampler.sample(candidates_at(now_s, num_clients, busy, devices, ask), count, stream);
    if (!cohort.empty() || !busy.empty() || count == 0 || devices.always_available()) return cohort;
    now_s = next_time_somebody_is_there(sampler, num_clients, devices, now_s);
    return sampler.sample(candidates_at(now_s, num_clients, busy, devices, ask), count, stream);
}

std::vector<ClientOutcome> outcomes_of(const Arrivals& arrived) {
    std::vector<ClientOutcome> outcomes;
    for (const ClientReport& client : arrived.clients) {
        if (client.failure) continue;
        outcomes.push_back({.client_id = client.client_id,
                            .num_examples = client.num_examples,
                            .steps = client.result.steps,
                            .train_loss = client.result.train_loss,
                            .update_norm = client.result.update_norm,
                            .seconds = client.trip_s.value_or(client.result.seconds)});
    }
    return outcomes;
}

}  // namespace fedhive::sim
