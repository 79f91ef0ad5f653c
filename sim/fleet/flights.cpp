#include "sim/fleet/flights.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <bit>
#include <set>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::Task;

void Flights::pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy) {
    std::size_t slot = 0;
    if (round_ != server.round) {
        round_ = server.round;
        arrived_in_round_ = 0;
        sent_in_round_.clear();
    }
    for (std::uint64_t first = 0, count = 0; first < cohort.size(); first += count) {
        while (flights_.at(slot)) ++slot;
        count = options_.slots.clients_of_next(cohort.size() - first);
        Flight flight;
        flight.task.first = options_.slots.shared() ? first : slot;
        for (std::uint64_t i = first; i < first + count; ++i)
            flight.clients.push_back({.client_id = cohort[i], .weight = strategy.weight(workload_.num_examples(cohort[i]))});
        flight.sent_round = server.round;
        flight.version = server.version;
        flight.task.objective = strategy.objective_in(server.round);
        flight.task.global_index = server.global_index;
        flight.task.num_together = options_.mode.num_together(cohort.size());
        if (options_.mode.late_join) flight.task.repeat = sent_in_round_[cohort[first]]++;
        if (options_.mode.by_steps) flight.steps_left = workload_.steps_of(cohort[first]) - 1;
        flight.arrives_s = server.now_s + workload_.longest_trip_s(flight);
        flight.rank = rank_of(slot, cohort[first], first, cohort.size());
        send(slot, flight, server);
    }
    pull_waiting(server);
}

void Flights::take_up(const InFlight& client, ServerState& server, const Strategy& strategy) {
    Flight flight;
    flight.clients.push_back({.client_id = client.client_id, .weight = client.weight});
    flight.sent_round = client.sent_round;
    flight.version = client.version;
    flight.arrives_s = client.arrives_s;
    flight.task.first = client.slot;
    flight.task.repeat = client.repeat;
    flight.task.num_together = options_.mode.num_together(1);  // a client that is taken up joins a later round
    flight.task.objective = strategy.objective_in(client.sent_round);
    flight.task.global_index = client.global_index;
    flight.rank = rank_of(client.slot, client.client_id, 0, 1);
    send(client.slot, flight, server);
}

/// The rank that trains a flight. By position: each rank takes a run of the cohort made of large subtrees of the sum, so that
/// it contributes few partial sums. If flights overlap: by slot. If clients keep state: by client id.
std::uint32_t Flights::rank_of(std::size_t slot, std::uint32_t client_id, std::uint64_t position, std::uint64_t cohort) const {
    constexpr std::uint64_t kBlocks = 4;  // blocks per rank, so that no rank has a quarter more than another
    const std::uint64_t ranks = options_.ranks->size();
    if (options_.mode.overlaps()) return static_cast<std::uint32_t>(slot % ranks);
    if (options_.by_client) return options_.ranks->owner_of(client_id, workload_.num_clients());
    const std::uint64_t block = std::bit_floor(std::max<std::uint64_t>(1, cohort / (kBlocks * ranks)));
    const std::uint64_t blocks = divide_up(cohort, block);
    return static_cast<std::uint32_t>(position / block * ranks / blocks);
}

void Flights::send(std::size_t slot, const Flight& flight, ServerState& server) {
    FEDHIVE_CHECK(!flights_.at(slot), "slot {} is taken", slot);
    flights_[slot] = flight;
    flights_[slot]->elsewhere = flight.rank != options_.ranks->rank();
    Task& task = flights_[slot]->task;
    task.num_ranks = static_cast<std::uint32_t>(options_.mode.group_size());
    task.velocity_index = options_.mode.velocity_index.value_or(0);
    task.payload = options_.mode.payload;
    task.round = static_cast<std::uint32_t>(flight.sent_round);
    task.slot = static_cast<std::uint32_t>(slot);
    task.count = flight.clients.size();
    flights_[slot]->waiting = options_.mode.by_steps;
    flights_[slot]->waits_since = server.version;
    if (!flights_[slot]->waiting) ++server.readers[task.global_index];
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        board_.member(task.first + i) = {
            .client_id = flight.clients[i].client_id, .weight = flight.clients[i].weight, .fault = {}};
        take_part(slot, i);
    }
}

bool Flights::put_new() {
    std::vector<ExpectedArrival> waiting = expected();
    // A flight that will be left behind anyway need not train.
    if (options_.order_is_known() && !options_.mode.overlaps()) {
        const std::size_t quorum = std::min(options_.mode.quorum, waiting.size());
        waiting = first_to_arrive(std::move(waiting), quorum);
    }
    std::vector<std::size_t> slots;
    for (const ExpectedArrival& one : waiting)
        if (!at(one.slot).put) slots.push_back(one.slot);
    put(slots);
    return !slots.empty();
}

/// slots: all slots of each group, or none.
void Flights::put(std::span<const std::size_t> slots) {
    board_.renew_ranks(slots);
    for (const std::size_t slot : slots) {
        Flight& flight = at(slot);
        flight.put = true;
        if (flight.elsewhere || !flight.wanted()) continue;  // or all of its clients were dropped
        flight.task.deadline_s = workload_.deadline_of(flight);
        board_.put(slot, flight.task, workload_.due_of(flight));
    }
}

void Flights::take_part(std::size_t slot, std::size_t participant) {
    Participant& client = at(slot).clients[participant];
    const auto [round, repeat] = std::pair(at(slot).task.round, at(slot).task.repeat);
    clients::Member& member = board_.member(at(slot).task.first + participant);
    for (;;) {
        const FaultConfig* fault = options_.faults.at(round, client.client_id, repeat, client.attempts.attempt);
        member.fault = injected(fault);
        if (fault == nullptr || fault->kind != "drop") return;
        ClientFailure failure;
        failure.kind = clients::FailureKind::Dropped;
        failure.round = round + std::int64_t{1};
        failure.client_id = client.client_id;
        failure.message = "injected: did not take part";
        policy_.resolve(client.attempts, failure, true);
        leave_out_if_dropped(slot, participant);
        if (client.attempts.dropped) return;
    }
}

void Flights::leave_out_if_dropped(std::size_t slot, std::size_t participant) {
    board_.member(at(slot).task.first + participant).left_out = at(slot).clients[participant].attempts.dropped ? 1 : 0;
}

/// All slots of a group start the next attempt together, no matter which of them failed.
void Flights::try_again(std::size_t slot) {
    const std::vector<std::size_t> slots = slots_of_group(slot);
    for (const std::size_t other : slots) {
        if (other == slot) continue;
        ++at(other).clients.front().attempts.attempt;
        take_part(other, 0);
    }
    put(slots);
}

void Flights::put_again(std::span<const std::size_t> cells) {
    std::set<std::vector<std::size_t>> groups;
    for (const std::size_t cell : cells)
        if (has(board_.slot_of(cell))) groups.insert(slots_of_group(board_.slot_of(cell)));
    for (const std::vector<std::size_t>& slots : groups) {
        // The attempt's group of workers is broken: withdraw all its tasks.
        if (options_.mode.group_size() > 1) board_.withdraw(cells_of_group(slots.front()));
        put(slots);
    }
}

std::vector<std::size_t> Flights::slots_of_group(std::size_t slot) const {
    if (options_.mode.group != Group::Round) return {slot};
    std::vector<std::size_t> slots;
    for (std::size_t other = 0; other < flights_.size(); ++other)
        if (has(other)) slots.push_back(other);
    return slots;
}

std::vector<std::size_t> Flights::cells_of_group(std::size_t slot) const {
    std::vector<std::size_t> cells;
    for (const std::size_t other : slots_of_group(slot))
        for (const std::size_t cell : board_.cells_of(other)) cells.push_back(cell);
    return cells;
}

std::vector<ExpectedArrival> Flights::expected() const {
    std::vector<ExpectedArrival> all;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (const auto& flight = flights_[slot]; flight && !flight->waiting && !flight->arrived)
            all.push_back({slot, flight->clients.front().client_id, flight->version, flight->arrives_s});
    return all;
}

std::vector<ExpectedArrival> Flights::first_to_arrive(std::vector<ExpectedArrival> expected, std::size_t quorum) const {
    if (options_.round_trip_s) return first_by_time(std::move(expected), quorum);
    static const std::vector<std::uint32_t> none;
    const auto round = static_cast<std::size_t>(round_);
    const auto& order = round < options_.recorded_arrivals.size() ? options_.recorded_arrivals[round] : none;
    return next_recorded(expected, order, arrived_in_round_, quorum);
}

void Flights::release(std::size_t slot, ServerState& server) {
    --server.readers[at(slot).task.global_index];
    if (at(slot).steps_left > 0 && at(slot).wanted())
        take_next_step(slot, server);
    else
        flights_[slot].reset();
}

void Flights::take_next_step(std::size_t slot, const ServerState& server) {
    Flight& flight = at(slot);
    flight.examples_before += workload_.examples_of(flight, flight.clients.front().client_id);
    --flight.steps_left;
    ++flight.task.step;
    flight.waiting = true;
    flight.waits_since = server.version;
    flight.put = false;
    flight.clients.front().attempts.attempt = 1;
    flight.clients.front().attempts.forgiven = 0;
    board_.member(flight.task.first).fault = {};  // it applied to the first step only
}

void Flights::pull_waiting(ServerState& server) {
    std::vector<ExpectedArrival> waiting;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (flights_[slot] && flights_[slot]->waiting)
            waiting.push_back(
                {slot, flights_[slot]->clients.front().client_id, 0, static_cast<double>(flights_[slot]->waits_since)});
    const std::size_t most = options_.mode.max_staleness ? *options_.mode.max_staleness + 1 : flights_.size();
    const std::size_t pulled = expected().size();
    for (const ExpectedArrival& one : first_by_time(std::move(waiting), most - std::min(most, pulled))) {
        Flight& flight = at(one.slot);
        flight.waiting = false;
        flight.task.global_index = server.global_index;
        ++server.readers[flight.task.global_index];
        flight.version = server.version;
        flight.arrives_s = server.now_s + workload_.longest_trip_s(flight);
    }
}

void Flights::leave_behind(std::size_t slot, ServerState& server) {
    const Flight& flight = at(slot);
    --server.readers[flight.task.global_index];
    if (flight.put && !flight.elsewhere && flight.wanted())
        for (const std::size_t cell : board_.cells_of(slot)) withdrawn_.push_back(cell);
    flights_[slot].reset();
}

bool Flights::any() const {
    return std::any_of(flights_.begin(), flights_.end(), [](const auto& flight) { return flight.has_value(); });
}

std::vector<InFlight> Flights::in_flight() const {
    std::vector<InFlight> all;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot) {
        if (!flights_[slot]) continue;
        const Flight& flight = *flights_[slot];
        for (const Participant& client : flight.clients)
            all.push_back({slot, client.client_id, client.weight, flight.sent_round, flight.task.repeat, flight.version,
                           flight.task.global_index, flight.arrives_s});
    }
    return all;
}

Cohort Flights::on_their_way() const {
    Cohort clients;
    for (const auto& flight : flights_)
        if (flight && !flight->arrived)
            for (const Participant& client : flight->clients) clients.push_back(client.client_id);
    std::sort(clients.begin(), clients.end());
    return clients;
}

}  // namespace fedhive::sim
