// The fleet at the end of a wait: who has arrived, with what, and where they go from there.
#include "aggregation/math/mean.h"
#include "sim/fleet/fleet.h"

#include <algorithm>
#include <limits>

namespace fedhive::sim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<InAir> Fleet::first_finished(std::vector<InAir> candidates, std::size_t quorum) const {
    for (InAir& one : candidates) {
        const bool here = !wanted(*flights_[one.slot]) || is_done(one.slot);
        one.arrives_s = here ? static_cast<double>(block_.task(cell_of(one.slot)).finished_ns) : kNever;
    }
    return first_by_time(std::move(candidates), quorum);
}

Arrivals Fleet::collect(const std::vector<InAir>& arrivals, ServerState& server) {
    Arrivals arrived;
    std::vector<bool> here(flights_.size());
    for (const InAir& one : arrivals) {
        here[one.slot] = true;
        arrived.slots.push_back(one.slot);
        arrived.order.push_back(one.client_id);
        if (options_.round_trip_s) server.now_s = std::max(server.now_s, one.arrives_s);
    }
    const bool others_stay = options_.mode.late_join || options_.mode.by_steps();
    std::vector<InAir> cohort = others_stay ? arrivals : air();
    std::sort(cohort.begin(), cohort.end(), [](const InAir& a, const InAir& b) { return a.client_id < b.client_id; });
    for (std::size_t position = 0; position < cohort.size(); ++position) {
        const std::size_t slot = cohort[position].slot;
        if (here[slot])
            add_arrival(arrived, position, slot, server);
        else
            leave_behind(arrived, slot, server);
    }
    barrier_.withdraw(withdrawn_);
    return arrived;
}

void Fleet::add_arrival(Arrivals& arrived, std::size_t position, std::size_t slot, const ServerState& server) {
    Flight& flight = *flights_[slot];
    const std::uint64_t staleness = server.version - flight.version;
    if (options_.slots.shared()) position = flight.task.first;  // of the sum over all clients
    std::vector<std::size_t> positions;
    std::vector<double> weights;
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        Passenger& client = flight.clients[i];
        if (!client.attempts.dropped) {
            const clients::ClientResult& result = block_.results()[member_index(slot, i)];
            deadlines_.learn(result);
            client.result = with_step(client.result, result, examples_of(flight, client.client_id), flight.examples_before);
            positions.push_back(position + i);
            weights.push_back(client.weight);
        }
        const Traffic traffic = traffic_of(flight, client.client_id);
        arrived.traffic += {traffic.down, client.attempts.dropped ? 0 : traffic.up};
        if (flight.steps_left > 0 && !client.attempts.dropped) continue;  // it has not finished
        ClientReport report = report_of(flight, slot, i);
        report.staleness = staleness;
        arrived.clients.push_back(report);
    }
    if (positions.empty()) return;
    arrived.num_arrived += positions.size();
    arrived.staleness_sum += positions.size() * staleness;
    arrived.last_ns = std::max(arrived.last_ns, block_.task(cell_of(slot)).finished_ns);
    // Replicas bring one and the same model, and slot 1 what goes with it; in place there is nothing to bring.
    if (options_.mode.in_place() || (options_.mode.one_group() && slot != 0)) return;
    const double weight = aggregation::sum_weights(positions, weights);
    // A slot with several clients already holds the sum of its weighted updates.
    const double scale = flight.clients.size() == 1 ? weight * options_.mode.staleness.discount(staleness) : 1.0;
    arrived.updates.push_back({arena_.slot(slot), position, scale, weight, positions.size()});
}

ClientReport Fleet::report_of(const Flight& flight, std::size_t slot, std::size_t i) const {
    const Passenger& client = flight.clients[i];
    const Attempts& attempts = client.attempts;
    return {.client_id = client.client_id,
            .worker = attempts.dropped || !flight.put ? attempts.worker : barrier_.worker_of(cell_of(slot)),
            .slot = static_cast<std::uint32_t>(slot),
            .num_examples = examples_per_epoch(client.client_id),
            .sent_round = flight.sent_round,
            .staleness = 0,
            .result = attempts.dropped ? clients::ClientResult{} : client.result,
            .failure = attempts.dropped};
}

void Fleet::leave_behind(Arrivals& arrived, std::size_t slot, ServerState& server) {
    const Flight& flight = *flights_[slot];
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        ClientReport report = report_of(flight, slot, i);
        report.failure = clients::FailureKind::LeftBehind;
        arrived.clients.push_back(report);
        arrived.traffic += {traffic_of(flight, report.client_id).down, 0};
    }
    --server.readers[flight.task.global_index];
    if (flight.put && wanted(flight)) withdrawn_.push_back(cell_of(slot));
    flights_[slot].reset();
}

bool Fleet::release(const Arrivals& arrived, ServerState& server) {
    for (const std::size_t slot : arrived.slots) {
        --server.readers[flights_[slot]->task.global_index];
        if (flights_[slot]->steps_left > 0 && wanted(*flights_[slot]))
            take_next_step(slot, server);
        else
            flights_[slot].reset();
    }
    pull_waiting(server);
    try {
        // Whoever was left behind notices it after its local step; until then it may write into its slot.
        while (!withdrawn_.empty()) {
            const std::vector<clients::FoundFailure> found = barrier_.wait_until_let_go(withdrawn_);
            resolve(found);
            if (found.empty()) withdrawn_.clear();
        }
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);  // the model has gone on, the round has not
    }
    const auto on_its_way = [](const std::optional<Flight>& flight) { return flight.has_value(); };
    return options_.mode.by_steps() && std::any_of(flights_.begin(), flights_.end(), on_its_way);
}

void Fleet::take_next_step(std::size_t slot, const ServerState& server) {
    Flight& flight = *flights_[slot];
    flight.examples_before += examples_of(flight, flight.clients.front().client_id);
    --flight.steps_left;
    ++flight.task.step;
    flight.waiting = true;
    flight.waits_since = server.version;
    flight.put = false;
    flight.clients.front().attempts.attempt = 1;
    flight.clients.front().attempts.forgiven = 0;
    block_.members()[member_index(slot, 0)].fault = {};  // it has fired, in the first step
}

/// Clients that wait for it pull the present model, who has waited longest first, as many as the bound on staleness lets.
void Fleet::pull_waiting(ServerState& server) {
    std::vector<InAir> waiting;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (flights_[slot] && flights_[slot]->waiting)
            waiting.push_back(
                {slot, flights_[slot]->clients.front().client_id, 0, static_cast<double>(flights_[slot]->waits_since)});
    const std::size_t most = options_.mode.max_staleness ? *options_.mode.max_staleness + 1 : flights_.size();
    const std::size_t pulled = air().size();
    for (const InAir& one : first_by_time(std::move(waiting), most - std::min(most, pulled))) {
        Flight& flight = *flights_[one.slot];
        flight.waiting = false;
        flight.task.global_index = server.global_index;
        ++server.readers[flight.task.global_index];
        flight.version = server.version;
        flight.arrives_s = server.now_s + longest_trip_s(flight);
    }
}

}  // namespace fedhive::sim
