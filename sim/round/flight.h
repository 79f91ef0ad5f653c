// Flights: clients from the hand-out of a slot's task to the arrival of its result, perhaps many rounds later.
#pragma once

#include "aggregation/math/aggregator.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/task.h"
#include "sim/modes/mode.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// The attempts at one client, or at one chunk of an evaluation.
struct Attempts {
    std::int64_t attempt = 1;   // from 1
    std::int64_t forgiven = 0;  // attempts that ran out of memory and left fewer workers
    std::uint32_t worker = 0;   // of the last failed one
    std::optional<clients::FailureKind> dropped;
};

struct Participant {
    std::uint32_t client_id = 0;
    double weight = 1.0;      // w_k, times draws
    std::uint32_t draws = 1;  // how often the round's sampler drew it
    Attempts attempts{};
    std::optional<std::uint64_t> model_bytes{};  // that it is sent; empty: as every client of the run
};

/// Adds a step of `examples` examples to the result `sum` of a client's earlier steps, which had `examples_before`. Steps,
/// seconds and hashes add up; the loss is the mean by examples; start_ns is the first step's; the rest, such as the norm, is
/// the last step's.
clients::ClientResult with_step(const clients::ClientResult& sum, const clients::ClientResult& step, std::uint64_t examples,
                                std::uint64_t examples_before);

/// How far a flight is: Waits → HasModel → OnBoard → Arrived; a client with steps left goes from OnBoard to Waits again.
enum class FlightState {
    Waits,     // for its turn to pull the model (bounded staleness)
    HasModel,  // its task is not put yet, and never if others arrive before
    OnBoard,   // its task is put, in work or done
    Arrived,   // counted; keeps its slot until the round ends; may be replaced already
};

/// One slot's task and the clients it trains.
struct Flight {
    clients::Task task;
    std::int64_t sent_round = 0;        // rounds finished when they were sent
    std::uint64_t version = 0;          // version of the model they started from
    double arrives_s = 0.0;             // simulated time
    std::uint64_t steps_left = 0;       // after this step, if each step arrives by itself
    std::uint64_t examples_before = 0;  // examples of the steps before this one …
    clients::ClientResult so_far{};     // … and their result
    FlightState state = FlightState::HasModel;
    std::uint64_t waits_since = 0;     // Waits: since this version of the server
    std::uint32_t rank = 0;            // the rank that trains them
    std::vector<Participant> clients;  // ascending ids

    /// At least one of its clients is not dropped.
    bool wanted() const;
    /// Its task was put, at least once.
    bool was_put() const { return state == FlightState::OnBoard || state == FlightState::Arrived; }
    /// It has a model, and has not arrived.
    bool flies() const { return state == FlightState::HasModel || state == FlightState::OnBoard; }

    // Transitions. Each throws Fault in a state that it cannot follow.
    /// Waits for the next model, from the server's `present` version on.
    void wait(std::uint64_t present);
    /// Takes the model of that version, in global region `index`; Waits → HasModel.
    void pull(std::uint64_t from, std::uint32_t index, double arrival_s);
    /// Its task is put, for the first time or again: HasModel → OnBoard; other states stay.
    void put();
    /// OnBoard → Arrived.
    void arrive();
    /// Ends a step of `examples` examples and begins the next one: OnBoard → Waits.
    void end_step(std::uint64_t examples, std::uint64_t present);
};

/// A client in flight at the end of a round, for the sampler and for a checkpoint.
struct InFlight {
    std::size_t slot = 0;
    std::uint32_t client_id = 0;
    double weight = 1.0;
    std::int64_t sent_round = 0;
    std::uint32_t repeat = 0;  // how often it had been sent in that round before
    std::uint64_t version = 0;
    std::uint32_t global_index = 0;  // the global region with the model that it started from
    double arrives_s = 0.0;
};

/// One client's row of clients.csv, after the barrier.
struct ClientReport {
    std::uint32_t client_id = 0;
    std::uint32_t worker = 0;  // of the last attempt
    std::uint32_t slot = 0;
    std::uint64_t num_examples = 0;
    std::int64_t sent_round = 0;                    // rounds finished when it was sent
    std::uint64_t staleness = 0;                    // server steps since it was sent
    clients::ClientResult result{};                 // of an accepted client
    std::optional<clients::FailureKind> failure{};  // of a client that was dropped or left behind
    bool elsewhere = false;                         // trained by another rank: its slot is empty here
    std::optional<double> trip_s{};                 // simulated, of its last task; empty on the wall clock
    std::uint32_t draws = 1;                        // as of the Participant
};

/// What the barrier returns.
struct Arrivals {
    std::vector<aggregation::Update> updates;  // one per slot with an accepted client, by client id
    std::optional<aggregation::Update> root;   // of the server's root client, if it trains; no count includes it
    std::vector<ClientReport> clients;         // those that arrived and those left behind, by client id
    std::vector<std::size_t> slots;            // slots in the order of arrival …
    std::vector<std::uint32_t> order;          // … and the first client of each
    std::int64_t last_ns = 0;                  // when the last one arrived
    std::uint64_t num_arrived = 0;             // accepted clients, or steps if each arrives by itself …
    std::uint64_t staleness_sum = 0;           // … and the sum of their staleness
    Traffic traffic;

    /// Appends a later turn's arrivals.
    void append(Arrivals turn);

    /// The place in `clients` of the only client of this update. Throws Fault where its slot has none or several.
    std::size_t sender_of(const aggregation::Update& update) const;

    std::size_t accepted() const;  // clients whose updates are in `updates`
    std::size_t left_behind() const;
    std::optional<double> train_loss() const;  // mean over accepted clients, weighted by examples; empty when there is none
    double staleness_mean() const;             // 0 when nothing was accepted
};

}  // namespace fedhive::sim
