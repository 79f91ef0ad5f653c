// The fleet in a wait and at its end: who arrives, with what, who goes in their place, and where they go from there.
#include "aggregation/math/mean.h"
#include "sim/fleet/fleet.h"

#include <algorithm>
#include <limits>

namespace fedhive::sim {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Arrivals Fleet::barrier(ServerState& server, const Replace& replace) {
    const double began_s = server.now_s;
    try {
        return collect(options_.mode.late_join ? arrive_and_be_replaced(server, replace) : arrive_together(server), server);
    } catch (const clients::Interrupted& interrupted) {
        server.now_s = began_s;  // a checkpoint is of the round before
        // Where the model changes in mid-round, only the last checkpoint has one that a run without a break would have, too.
        const bool consistent = !options_.mode.by_steps() && !options_.mode.in_place();
        throw clients::Interrupted(interrupted.signal_number, consistent);
    }
}

/// Waits until so many of these flights are here, or lost; so many others have arrived before in this round.
void Fleet::await(const std::vector<ExpectedArrival>& flights, std::size_t quorum, std::size_t before) {
    const auto awaited = [&] {
        Awaited next{{}, quorum, before};
        for (const ExpectedArrival& one : flights) {
            const auto cells = wanted(*flights_[one.slot]) ? cells_of(one.slot) : std::vector<std::size_t>{};
            next.cells.insert(next.cells.end(), cells.begin(), cells.end());
            // Who is lost has been waited for long enough; of a pair, both must come.
            next.quorum += cells.size();
            if (next.quorum > 0) --next.quorum;
        }
        return next;
    };
    settle(awaited, 0.0);
}

/// All that end the wait, of those who are on their way when it begins.
std::vector<ExpectedArrival> Fleet::arrive_together(const ServerState& server) {
    std::vector<ExpectedArrival> candidates = expected_arrivals();
    if (options_.mode.max_staleness)
        candidates = allowed_next(std::move(candidates), server.version, *options_.mode.max_staleness);
    const std::size_t quorum = std::min(options_.mode.quorum, candidates.size());
    if (order_is_known()) candidates = first_to_arrive(std::move(candidates), quorum);
    await(candidates, quorum, 0);
    if (!order_is_known()) candidates = first_finished(std::move(candidates), quorum);
    arrived_in_round_ += candidates.size();
    return candidates;
}

/// One after the other; who comes before the last one is replaced, and may be among those who come after it. Where the order is known, who comes
/// next and who goes then is settled before anybody is waited for.
std::vector<ExpectedArrival> Fleet::arrive_and_be_replaced(ServerState& server, const Replace& replace) {
    std::vector<ExpectedArrival> arrived;
    bool to_be_told = false;
    while (arrived.size() < options_.mode.quorum) {
        std::vector<ExpectedArrival> next = expected_arrivals();
        if (next.empty()) break;
        if (order_is_known()) {
            next = first_to_arrive(std::move(next), 1);
        } else {
            await(next, 1, arrived.size());
            next = first_finished(std::move(next), 1);
        }
        arrived.push_back(next.front());
        flights_[next.front().slot]->arrived = true;
        ++arrived_in_round_;
        if (options_.round_trip_s) server.now_s = std::max(server.now_s, next.front().arrives_s);
        if (arrived.size() == options_.mode.quorum || !replace) continue;
        replace(arrived_in_round_);
        to_be_told = put_sent() || to_be_told;
        if (order_is_known() || !to_be_told) continue;
        barrier_.ring();
        to_be_told = false;
    }
    if (!order_is_known()) return arrived;
    if (to_be_told) barrier_.ring();
    await(arrived, arrived.size(), 0);
    return arrived;
}

std::vector<ExpectedArrival> Fleet::first_finished(std::vector<ExpectedArrival> candidates, std::size_t quorum) const {
    for (ExpectedArrival& one : candidates) {
        const bool here = !wanted(*flights_[one.slot]) || is_done(one.slot);
        one.arrives_s = here ? static_cast<double>(block_.task(cell_of(one.slot)).finished_ns) : kNever;
    }
    return first_by_time(std::move(candidates), quorum);
}

Arrivals Fleet::collect(const std::vector<ExpectedArrival>& arrivals, ServerState& server) {
    Arrivals arrived;
    std::vector<bool> here(flights_.size());
    for (const ExpectedArrival& one : arrivals) {
        here[one.slot] = true;
        arrived.slots.push_back(one.slot);
        arrived.order.push_back(one.client_id);
        if (options_.round_trip_s) server.now_s = std::max(server.now_s, one.arrives_s);
    }
    const bool others_stay = options_.mode.late_join || options_.mode.by_steps();
    std::vector<ExpectedArrival> cohort = others_stay ? arrivals : expected_arrivals();
    // A client that has come twice stands as it came.
    std::stable_sort(cohort.begin(), cohort.end(),
                     [](const ExpectedArrival& a, const ExpectedArrival& b) { return a.client_id < b.client_id; });
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
        Participant& client = flight.clients[i];
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
    const Participant& client = flight.clients[i];
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
    std::vector<ExpectedArrival> waiting;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (flights_[slot] && flights_[slot]->waiting)
            waiting.push_back(
                {slot, flights_[slot]->clients.front().client_id, 0, static_cast<double>(flights_[slot]->waits_since)});
    const std::size_t most = options_.mode.max_staleness ? *options_.mode.max_staleness + 1 : flights_.size();
    const std::size_t pulled = expected_arrivals().size();
    for (const ExpectedArrival& one : first_by_time(std::move(waiting), most - std::min(most, pulled))) {
        Flight& flight = *flights_[one.slot];
        flight.waiting = false;
        flight.task.global_index = server.global_index;
        ++server.readers[flight.task.global_index];
        flight.version = server.version;
        flight.arrives_s = server.now_s + longest_trip_s(flight);
    }
}

}  // namespace fedhive::sim
