// Who is on the way, in which slot: handed out, put on the board, sent on for another step, left behind, released. It asks for no arrival and
// waits for nobody; fleet.h does.
#pragma once

#include "sim/fleet/arrival_order.h"
#include "sim/fleet/board.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/fleet_options.h"
#include "sim/fleet/workload.h"
#include "sim/round/flight.h"
#include "sim/round/sampler.h"
#include "sim/round/server_state.h"
#include "sim/strategies/strategy.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace fedhive::sim {

class Flights {
public:
    /// All must outlive this.
    Flights(const FleetOptions& options, const Workload& workload, Board& board, FailurePolicy& policy)
        : options_(options), workload_(workload), board_(board), policy_(policy), flights_(board.num_slots()) {}

    bool has(std::size_t slot) const { return flights_[slot].has_value(); }
    Flight& at(std::size_t slot) { return *flights_[slot]; }
    const Flight& at(std::size_t slot) const { return *flights_[slot]; }

    // Hand-out. As Fleet::pull_down, Fleet::take_up.
    void pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy);
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy);
    /// Everybody who is on the way and not on the board yet is put there, but for those whom other ranks train. False where there is nobody.
    bool put_new();
    std::int64_t round() const { return round_; }  // of the last hand-out; -1 before

    // Attempts.
    /// A client before each of its attempts: which fault is waiting for it, and whether it takes part at all. Throws RunAborted.
    void take_part(std::size_t slot, std::size_t participant);
    /// What the policy says of one of a slot's clients counts from its next attempt on.
    void leave_out_if_dropped(std::size_t slot, std::size_t participant);
    /// The next attempt of all whose workers need this slot's.
    void try_again(std::size_t slot);
    /// Tasks that their workers have let go of, for others; nobody's where the clients were left behind.
    void put_again(std::span<const std::size_t> cells);
    /// Of all slots whose workers need each other.
    std::vector<std::size_t> cells_of_group(std::size_t slot) const;

    // Arrival.
    /// Who is on the way with a model, by slot.
    std::vector<ExpectedArrival> expected() const;
    /// Who of them comes first, where the order is known. Throws Fault for a record of another config.
    std::vector<ExpectedArrival> first_to_arrive(std::vector<ExpectedArrival> expected, std::size_t quorum) const;
    /// Its clients may be sent again, while it waits in its slot for the others of the round.
    void mark_arrived(std::size_t slot) { at(slot).arrived = true; }
    void count_arrivals(std::size_t slots) { arrived_in_round_ += slots; }
    std::size_t arrived_in_round() const { return arrived_in_round_; }

    // The end.
    /// The slot is free, or its client waits for the next model where it has steps left.
    void release(std::size_t slot, ServerState& server);
    /// Clients that wait for it pull the present model, who has waited longest first, as many as the bound on staleness lets.
    void pull_waiting(ServerState& server);
    /// The slot is free, though somebody may still write into it: its cells stay in withdrawn() until all have let go.
    void leave_behind(std::size_t slot, ServerState& server);
    const std::vector<std::size_t>& withdrawn() const { return withdrawn_; }
    void all_have_let_go() { withdrawn_.clear(); }

    bool any() const;
    std::vector<InFlight> in_flight() const;  // by slot
    Cohort on_their_way() const;              // without those who wait in their slots; ascending

private:
    void send(std::size_t slot, const Flight& flight, ServerState& server);
    std::uint32_t rank_of(std::size_t slot, std::uint32_t client_id, std::uint64_t position, std::uint64_t cohort) const;
    void put(std::span<const std::size_t> slots);
    std::vector<std::size_t> slots_of_group(std::size_t slot) const;
    void take_next_step(std::size_t slot, const ServerState& server);

    const FleetOptions& options_;
    const Workload& workload_;
    Board& board_;
    FailurePolicy& policy_;
    std::vector<std::optional<Flight>> flights_;                      // by slot
    std::vector<std::size_t> withdrawn_;                              // cells of those left behind
    std::int64_t round_ = -1;                                         // of the last hand-out …
    std::size_t arrived_in_round_ = 0;                                // … and how many slots have arrived since …
    std::unordered_map<std::uint32_t, std::uint32_t> sent_in_round_;  // … and how often a client was sent
};

}  // namespace fedhive::sim
