#include "sim/fleet/collector.h"

#include "aggregation/math/mean.h"

#include <algorithm>

namespace fedhive::sim {

Arrivals Collector::collect(const Expected& arrivals, ServerState& server) {
    Arrivals arrived;
    std::vector<bool> here(board_.num_slots());
    for (const ExpectedArrival& one : arrivals) {
        here[one.slot] = true;
        arrived.slots.push_back(one.slot);
        arrived.order.push_back(one.client_id);
        order_.advance(server.now_s, one);
    }
    Expected cohort = options_.mode.overlaps() ? arrivals : flights_.expected();
    // Stable: a client that has arrived twice keeps its order of arrival.
    std::stable_sort(cohort.begin(), cohort.end(),
                     [](const ExpectedArrival& a, const ExpectedArrival& b) { return a.client_id < b.client_id; });
    std::size_t clients = 0;
    for (const ExpectedArrival& one : cohort) clients += flights_.at(one.slot).clients.size();
    arrived.clients.reserve(clients);
    for (std::size_t position = 0; position < cohort.size(); ++position) {
        const std::size_t slot = cohort[position].slot;
        if (here[slot])
            add_arrival(arrived, position, slot, server);
        else
            leave_behind(arrived, slot, server);
    }
    board_.withdraw(flights_.withdrawn());
    add_root(arrived);
    return arrived;
}

void Collector::add_root(Arrivals& arrived) const {
    const std::optional<std::size_t> slot = flights_.root();
    if (!slot) return;
    deadlines_.learn(board_.result(flights_.at(*slot).task.first));
    arrived.root = aggregation::Update{.values = arena_.slot(*slot), .position = *slot, .slot = *slot};
}

void Collector::add_arrival(Arrivals& arrived, std::size_t position, std::size_t slot, const ServerState& server) {
    const std::uint64_t staleness = server.version - flights_.at(slot).version;
    const std::size_t accepted = take_results(arrived, slot, staleness);
    if (accepted == 0) return;
    arrived.num_arrived += accepted;
    arrived.staleness_sum += accepted * staleness;
    if (board_.is_here(slot)) arrived.last_ns = std::max(arrived.last_ns, board_.finished_ns(slot));
    add_update(arrived, position, slot, staleness);
}

/// Takes the reports of the slot's clients. Returns how many of them were accepted.
std::size_t Collector::take_results(Arrivals& arrived, std::size_t slot, std::uint64_t staleness) {
    Flight& flight = flights_.at(slot);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        const Participant& client = flight.clients[i];
        const Work work = workload_.work_of(flight, client.client_id);
        const Traffic traffic = workload_.traffic_of(flight, client.client_id, work);
        arrived.traffic += {traffic.down, client.attempts.dropped ? 0 : traffic.up};
        clients::ClientResult result;
        if (!client.attempts.dropped) {
            const clients::ClientResult& of_step = board_.result(flight.task.first + i);
            deadlines_.learn(of_step);
            result = with_step(flight.so_far, of_step, work.examples, flight.examples_before);
            ++accepted;
            if (flight.steps_left > 0) {
                flight.so_far = result;
                continue;  // the client has not finished
            }
        }
        arrived.clients.push_back(report_of(flight, slot, i, result));
        arrived.clients.back().staleness = staleness;
    }
    return accepted;
}

void Collector::add_update(Arrivals& arrived, std::size_t position, std::size_t slot, std::uint64_t staleness) {
    const Mode& mode = options_.mode;
    if (mode.bring == Bring::Nothing || (mode.bring == Bring::OneUpdate && slot != 0)) return;
    const Flight& flight = flights_.at(slot);
    if (options_.slots.shared()) position = flight.task.first;  // position in the sum over all clients
    std::vector<std::size_t> positions;
    std::vector<double> weights;
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        if (flight.clients[i].attempts.dropped) continue;
        positions.push_back(position + i);
        weights.push_back(flight.clients[i].weight);
    }
    const double weight = aggregation::sum_weights(positions, weights);
    // A slot with several clients already holds the sum of its weighted updates.
    const double scale = flight.clients.size() == 1 ? weight * mode.staleness.discount(staleness) : 1.0;
    arrived.updates.push_back({arena_.slot(slot), position, scale, weight, positions.size(), slot});
}

/// The worker of the last attempt, numbered over all ranks.
std::uint32_t Collector::worker_of(const Flight& flight, std::size_t slot, const Attempts& attempts) const {
    if (!board_.is_here(slot)) return attempts.worker;
    const Ranks& ranks = *options_.ranks;
    return ranks.first_worker(ranks.rank()) +
           (attempts.dropped || !flight.was_put() ? attempts.worker : board_.worker_of(slot));
}

ClientReport Collector::report_of(const Flight& flight, std::size_t slot, std::size_t i,
                                  const clients::ClientResult& result) const {
    const Participant& client = flight.clients[i];
    const Attempts& attempts = client.attempts;
    return {.client_id = client.client_id,
            .worker = worker_of(flight, slot, attempts),
            .slot = static_cast<std::uint32_t>(slot),
            .num_examples = workload_.examples_per_epoch(client.client_id),
            .sent_round = flight.sent_round,
            .staleness = 0,
            .result = result,
            .failure = attempts.dropped,
            .elsewhere = !board_.is_here(slot),
            .trip_s = workload_.trip_s(flight, client.client_id),
            .draws = client.draws};
}

void Collector::leave_behind(Arrivals& arrived, std::size_t slot, ServerState& server) {
    const Flight& flight = flights_.at(slot);
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        ClientReport report = report_of(flight, slot, i, {});
        report.failure = clients::FailureKind::LeftBehind;
        arrived.clients.push_back(report);
        arrived.traffic += {workload_.traffic_of(flight, report.client_id).down, 0};
    }
    flights_.leave_behind(slot, server);
}

}  // namespace fedhive::sim
