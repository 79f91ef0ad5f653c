#include "sim/fleet/workload.h"

#include "aggregation/base/divide_up.h"
#include "clients/tasks/measures.h"
#include "clients/visit/whole_clients.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

/// Forward passes that take as long as a local step: a backward pass takes twice as long as a forward pass.
constexpr std::uint64_t kPassesOfAStep = 3;

}  // namespace

std::uint64_t Workload::examples_of_pass(std::uint64_t own) const {
    switch (options_.mode.pass) {
        case PassExamples::Own:
            return own;
        case PassExamples::Share:
            return divide_up(dataset_.map().num_train, options_.mode.in_flight);
        case PassExamples::All:
            return dataset_.map().num_train;
    }
    return 0;
}

std::uint64_t Workload::examples_of_task(const Flight& flight, std::uint64_t of_pass) const {
    const bool one_pass_more = plan_.mean_gradient;
    if (!options_.mode.by_steps)
        return plan_.training.examples_of(of_pass) * plan_.passes_of_a_step + (one_pass_more ? of_pass : 0);
    const std::uint64_t steps = plan_.training.steps_of_epoch(of_pass);
    const std::uint64_t first = (plan_.training.steps_of(of_pass) - 1 - flight.steps_left) % steps * plan_.training.batch_size;
    return std::min(plan_.training.batch_size, of_pass - first);
}

Workload::Measuring Workload::measuring(const clients::Reports& measures) const {
    return {.passes = (clients::measures_outputs(measures) ? 1 : 0) + plan_.loss_passes,
            .gradient = clients::place_of_gradient_norm(measures).has_value()};
}

std::uint64_t Workload::examples_to_measure(const Measuring& measures, std::uint64_t examples) {
    return divide_up(measures.passes * examples, kPassesOfAStep) + (measures.gradient ? examples : 0);
}

std::uint64_t Workload::examples_of_passes(std::uint32_t client_id, std::uint64_t passes) const {
    const std::uint64_t held_out = dataset_.held_out(client_id).size();
    return divide_up(passes * (held_out > 0 ? held_out : num_examples(client_id)), kPassesOfAStep);
}

Work Workload::work_of(const Flight& flight, std::uint32_t client_id) const {
    const std::uint64_t own = num_examples(client_id);
    Work work;
    work.examples = examples_of_task(flight, examples_of_pass(own));
    work.in_time =
        work.examples + examples_to_measure(of_reports_, own) + divide_up(plan_.measure_passes * own, kPassesOfAStep);
    work.steps = divide_up(work.in_time, plan_.training.batch_size);
    return work;
}

std::uint64_t Workload::local_steps(const Flight& flight) const {
    std::uint64_t steps = 0;
    for (const Participant& client : flight.clients)
        if (!client.attempts.dropped) steps += work_of(flight, client.client_id).steps;
    return steps;
}

Traffic Workload::traffic_of(const Flight& flight, std::uint32_t client_id, const Work& work) const {
    const auto client = std::ranges::lower_bound(flight.clients, client_id, {}, &Participant::client_id);
    const bool is_its = client != flight.clients.end() && client->client_id == client_id && client->model_bytes;
    Traffic traffic = options_.mode.traffic({.examples = work.examples,
                                             .steps = work.steps,
                                             .model_bytes = is_its ? *client->model_bytes : options_.model_bytes,
                                             .update_bytes = options_.update_bytes,
                                             .activation_bytes = options_.activation_bytes,
                                             .in_flight = options_.mode.in_flight});
    traffic.up += options_.report_bytes;
    return traffic;
}

std::optional<double> Workload::trip_s(const Flight& flight, std::uint32_t client_id) const {
    const Work work = work_of(flight, client_id);
    return order_.trip_s(client_id, work.in_time, traffic_of(flight, client_id, work));
}

double Workload::longest_trip_s(const Flight& flight) const {
    double longest = 0.0;
    for (const Participant& client : flight.clients)
        longest = std::max(longest, trip_s(flight, client.client_id).value_or(0.0));
    return longest;
}

double Workload::deadline_of(const Flight& flight) const {
    double seconds = 0.0;
    for (const Participant& client : flight.clients)
        seconds = std::max(seconds, deadlines_.of_client(work_of(flight, client.client_id).steps));
    // Clients trained at once, or side by side in thread blocks of one launch, share their time: their deadlines add up.
    const bool in_blocks = plan_.engine == clients::Engine::Direct && plan_.space == aggregation::MemorySpace::Cuda;
    const std::uint64_t at_once = in_blocks ? clients::kBlocksAtOnce : plan_.clients_at_once;
    return seconds * static_cast<double>(std::min<std::uint64_t>(at_once, flight.clients.size()));
}

/// If the order of arrival has no meaning, or is known before anybody trains, clients with the most examples begin: a long task
/// that starts last would keep all others waiting. Changes only the order of the queue, never a client's slot or place in the
/// sum.
DueKey Workload::due_of(const Flight& flight) const {
    const Mode& mode = options_.mode;
    if (mode.overlaps()) return DueKey::earliest_first(flight.arrives_s);
    if (mode.quorum < mode.in_flight && !order_.is_known()) return DueKey::as_put();
    std::uint64_t examples = 0;
    for (const Participant& client : flight.clients)
        if (!client.attempts.dropped) examples += work_of(flight, client.client_id).examples;
    return DueKey::largest_first(examples);
}

}  // namespace fedhive::sim
