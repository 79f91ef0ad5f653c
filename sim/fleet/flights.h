// The flights and their slots. A flight is a slot whose clients were sent a model and have not reported yet: it is handed out, put on the board, sent
// on for another step, left behind, released. No function here waits; those of fleet.h do.
#pragma once

#include "sim/fleet/arrival_order.h"
#include "sim/fleet/board.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/fleet_options.h"
#include "sim/fleet/workload.h"
#include "sim/round/flight.h"
#include "sim/round/server_state.h"
#include "sim/selection/candidates.h"
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
    Flights(const FleetOptions& options, const ArrivalOrder& order, const Workload& workload, Board& board,
            FailurePolicy& policy)
        : options_(options), order_(order), workload_(workload), board_(board), policy_(policy), flights_(board.num_slots()) {}

    bool has(std::size_t slot) const { return flights_[slot].has_value(); }
    Flight& at(std::size_t slot) { return *flights_[slot]; }
    const Flight& at(std::size_t slot) const { return *flights_[slot]; }

    // Hand-out. As Fleet::pull_down, Fleet::take_up.
    void pull_down(const CountedCohort& counted, ServerState& server, const Strategy& strategy);
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy);
    /// Puts each new flight on the board, unless it would be left behind. Returns whether there were new flights.
    bool put_new();
    /// The round of the last hand-out, -1 before it, and the arrivals in that round.
    const Turn& turn() const { return turn_; }

    // Attempts.
    /// To be called before each attempt of a client: sets the fault that hits it, and drops the client if it does not take part. Throws RunAborted.
    void take_part(std::size_t slot, std::size_t participant);
    /// If the policy has dropped the client, excludes it from the slot's next attempts.
    void leave_out_if_dropped(std::size_t slot, std::size_t participant);
    /// Starts the next attempt of this slot and of all slots in its group.
    void try_again(std::size_t slot);
    /// Puts tasks that their workers gave up on the board again, for other workers, except those of flights left behind.
    void put_again(std::span<const std::size_t> cells);
    /// The cells of all slots in this slot's group.
    std::vector<std::size_t> cells_of_group(std::size_t slot) const;

    // Arrival.
    /// The slot of the root client's flight, from the hand-out of a cohort to release_root(); it is no arrival and never expected.
    std::optional<std::size_t> root() const;
    bool is_root(std::size_t slot) const { return root() == slot; }
    /// The clients' flights that have a model and have not arrived, by slot.
    Expected expected() const;
    /// The cells of this rank's board for the slot's task; none if all of its clients were dropped.
    std::vector<std::size_t> wanted_cells(std::size_t slot) const;
    /// Time when the slot's task finished; empty before that.
    std::optional<std::int64_t> finished_ns(std::size_t slot) const;
    /// The flight stays in its slot until the round ends; its clients may be sent again.
    void mark_arrived(std::size_t slot) { at(slot).arrive(); }
    void count_arrivals(std::size_t slots) { turn_.arrived += slots; }

    // The end.
    /// Frees the slot; a client with steps left waits for the next model instead.
    void release(std::size_t slot, ServerState& server);
    /// Frees the root client's slot, if it has one.
    void release_root(ServerState& server);
    /// Gives waiting clients the present model, longest wait first, as many as the bound on staleness allows.
    void pull_waiting(ServerState& server);
    /// Frees the slot, into which a worker may still write: its cells are in withdrawn() until no worker does.
    void leave_behind(std::size_t slot, ServerState& server);
    const std::vector<std::size_t>& withdrawn() const { return withdrawn_; }
    void all_have_let_go() { withdrawn_.clear(); }

    bool any() const;
    std::vector<InFlight> in_flight() const;  // by slot
    Cohort on_their_way() const;              // without those that wait in their slots; ascending

private:
    Flight new_flight(const ServerState& server, const Strategy& strategy) const;
    void send_root(ServerState& server, const Strategy& strategy);
    void send(std::size_t slot, Flight sent, ServerState& server);
    std::uint32_t rank_of(std::size_t slot, std::uint32_t client_id, std::uint64_t position, std::uint64_t cohort) const;
    void put(std::span<const std::size_t> slots);
    std::vector<std::size_t> slots_of_group(std::size_t slot) const;
    void take_next_step(std::size_t slot, const ServerState& server);

    const FleetOptions& options_;
    const ArrivalOrder& order_;
    const Workload& workload_;
    Board& board_;
    FailurePolicy& policy_;
    std::vector<std::optional<Flight>> flights_;  // by slot
    std::vector<std::size_t> withdrawn_;          // cells of flights left behind
    Turn turn_{.round = -1};
    std::unordered_map<std::uint32_t, std::uint32_t>
        sent_in_round_;  // by client: number of times that it was sent in this round
};

}  // namespace fedhive::sim
