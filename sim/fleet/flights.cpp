#include "sim/fleet/flights.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::Task;

void Flights::pull_down(const CountedCohort& counted, ServerState& server, const Strategy& strategy) {
    const Cohort& cohort = counted.clients;
    std::size_t slot = 0;
    if (turn_.round != server.round) {
        turn_ = {.round = server.round};
        sent_in_round_.clear();
    }
    for (std::uint64_t first = 0, count = 0; first < cohort.size(); first += count) {
        while (flights_.at(slot)) ++slot;
        count = options_.slots.clients_of_next(cohort.size() - first);
        Flight flight = new_flight(server, strategy);
        flight.clients.reserve(count);
        flight.task.first = options_.slots.shared() ? first : slot;
        for (std::uint64_t i = first; i < first + count; ++i) {
            const std::uint32_t draws = counted.draws.empty() ? 1 : counted.draws[i];
            flight.clients.push_back({.client_id = cohort[i],
                                      .weight = strategy.weight(workload_.num_examples(cohort[i])) * draws,
                                      .draws = draws,
                                      .model_bytes = workload_.bytes_to(server, cohort[i])});
            if (server.sent && server.sent->by_changes()) server.sent->asked.push_back(cohort[i]);
        }
        flight.task.num_together = options_.mode.num_together(cohort.size());
        if (options_.mode.late_join) flight.task.repeat = sent_in_round_[cohort[first]]++;
        if (options_.mode.by_steps) flight.steps_left = workload_.steps_of(cohort[first]) - 1;
        flight.arrives_s = server.now_s + workload_.longest_trip_s(flight);
        flight.rank = rank_of(slot, cohort[first], first, cohort.size());
        send(slot, std::move(flight), server);
    }
    if (options_.slots.root > 0 && !cohort.empty()) send_root(server, strategy);
    pull_waiting(server);
}

/// From the present model, without clients.
Flight Flights::new_flight(const ServerState& server, const Strategy& strategy) const {
    Flight flight;
    flight.sent_round = server.round;
    flight.version = server.version;
    flight.task.rate = strategy.rate_in(server.round);
    flight.task.global_index = server.sent_index();
    flight.task.clip_norm = server.clip_norm;
    return flight;
}

/// The last rank trains it: none has fewer clients.
void Flights::send_root(ServerState& server, const Strategy& strategy) {
    const std::size_t slot = board_.num_slots() - 1;
    Flight flight = new_flight(server, strategy);
    flight.task.first = slot;
    flight.clients.push_back({.client_id = static_cast<std::uint32_t>(workload_.num_clients())});
    flight.arrives_s = server.now_s;
    flight.rank = options_.ranks->size() - 1;
    send(slot, std::move(flight), server);
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
    flight.task.rate = strategy.rate_in(client.sent_round);
    flight.task.global_index = client.global_index;
    flight.rank = rank_of(client.slot, client.client_id, 0, 1);
    send(client.slot, std::move(flight), server);
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

void Flights::send(std::size_t slot, Flight sent, ServerState& server) {
    FEDHIVE_CHECK(!flights_.at(slot), "slot {} is taken", slot);
    Flight& flight = flights_[slot].emplace(std::move(sent));
    board_.assign(slot, flight.rank == options_.ranks->rank());
    Task& task = flight.task;
    task.num_ranks = static_cast<std::uint32_t>(options_.mode.group_size());
    task.velocity_index = options_.mode.velocity_index.value_or(0);
    task.payload = options_.mode.payload;
    task.round = static_cast<std::uint32_t>(flight.sent_round);
    task.slot = static_cast<std::uint32_t>(slot);
    task.count = flight.clients.size();
    if (options_.mode.by_steps)
        flight.wait(server.version);
    else
        ++server.readers[task.global_index];
    for (std::size_t i = 0; i < flight.clients.size(); ++i) {
        board_.member(task.first + i) = {
            .client_id = flight.clients[i].client_id, .weight = flight.clients[i].weight, .fault = {}};
        take_part(slot, i);
    }
}

bool Flights::put_new() {
    Expected flying = expected();
    // A flight that will be left behind anyway need not train.
    const std::size_t quorum = std::min(options_.mode.quorum, flying.size());
    if (!options_.mode.overlaps()) flying = order_.contenders(std::move(flying), quorum, turn_);
    std::vector<std::size_t> slots;
    for (const ExpectedArrival& one : flying)
        if (!at(one.slot).was_put()) slots.push_back(one.slot);
    if (const auto slot = root(); slot && !at(*slot).was_put()) slots.push_back(*slot);
    put(slots);
    return !slots.empty();
}

/// slots: all slots of each group, or none.
void Flights::put(std::span<const std::size_t> slots) {
    board_.renew_ranks(slots);
    for (const std::size_t slot : slots) {
        Flight& flight = at(slot);
        flight.put();
        if (!flight.wanted()) continue;
        flight.task.deadline_s = workload_.deadline_of(flight);
        board_.put(slot, flight.task, workload_.due_of(flight));
    }
}

void Flights::take_part(std::size_t slot, std::size_t participant) {
    Participant& client = at(slot).clients[participant];
    const auto [round, repeat] = std::pair(at(slot).task.round, at(slot).task.repeat);
    clients::Member& member = board_.member(at(slot).task.first + participant);
    for (;;) {
        const FaultConfig* fault = options_.faults.at(round, client.client_id, repeat, client.attempts.attempt, is_root(slot));
        member.fault = injected(fault);
        if (fault == nullptr || member.fault.kind != clients::FaultKind::None) return;  // None: the client does not take part
        ClientFailure failure;
        failure.kind = clients::FailureKind::Dropped;
        failure.round = round + std::int64_t{1};
        failure.client_id = client.client_id;
        failure.message = "injected: did not take part";
        policy_.resolve(client.attempts, failure, !is_root(slot));
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
    if (options_.mode.group != WorkerGroup::Round) return {slot};
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

std::optional<std::size_t> Flights::root() const {
    if (options_.slots.root == 0 || !flights_.back()) return std::nullopt;
    return flights_.size() - 1;
}

Expected Flights::expected() const {
    Expected all;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (const auto& flight = flights_[slot]; flight && flight->flies() && !is_root(slot))
            all.push_back({slot, flight->clients.front().client_id, flight->version, flight->arrives_s});
    return all;
}

std::vector<std::size_t> Flights::wanted_cells(std::size_t slot) const {
    return at(slot).wanted() ? board_.cells_of(slot) : std::vector<std::size_t>{};
}

std::optional<std::int64_t> Flights::finished_ns(std::size_t slot) const {
    if (!at(slot).wanted() || board_.is_done(slot)) return board_.finished_ns(slot);
    return std::nullopt;
}

void Flights::release(std::size_t slot, ServerState& server) {
    --server.readers[at(slot).task.global_index];
    if (at(slot).steps_left > 0 && at(slot).wanted())
        take_next_step(slot, server);
    else
        flights_[slot].reset();
}

void Flights::release_root(ServerState& server) {
    if (const auto slot = root()) release(*slot, server);
}

void Flights::take_next_step(std::size_t slot, const ServerState& server) {
    Flight& flight = at(slot);
    flight.end_step(workload_.work_of(flight, flight.clients.front().client_id).examples, server.version);
    board_.member(flight.task.first).fault = {};  // it applied to the first step only
}

void Flights::pull_waiting(ServerState& server) {
    Expected waiting;
    for (std::size_t slot = 0; slot < flights_.size(); ++slot)
        if (flights_[slot] && flights_[slot]->state == FlightState::Waits)
            waiting.push_back({.slot = slot, .client_id = flights_[slot]->clients.front().client_id});
    const std::size_t most = options_.mode.max_staleness ? *options_.mode.max_staleness + 1 : flights_.size();
    const std::size_t room = most - std::min(most, expected().size());
    const auto since = [this](const ExpectedArrival& one) { return at(one.slot).waits_since; };
    for (const ExpectedArrival& one : first_by(std::move(waiting), room, since)) {
        Flight& flight = at(one.slot);
        flight.pull(server.version, server.global_index, server.now_s + workload_.longest_trip_s(flight));
        ++server.readers[flight.task.global_index];
    }
}

void Flights::leave_behind(std::size_t slot, ServerState& server) {
    const Flight& flight = at(slot);
    --server.readers[flight.task.global_index];
    if (flight.was_put())
        for (const std::size_t cell : wanted_cells(slot)) withdrawn_.push_back(cell);
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
        if (flight && flight->state != FlightState::Arrived)
            for (const Participant& client : flight->clients) clients.push_back(client.client_id);
    std::sort(clients.begin(), clients.end());
    return clients;
}

}  // namespace fedhive::sim
