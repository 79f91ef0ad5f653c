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
    double weight = 1.0;  // w_k
    Attempts attempts{};
    clients::ClientResult result{};  // of an arrived client; of its steps so far if each step arrives by itself
};

/// Adds a step of `examples` examples to the result `sum` of a client's earlier steps, which had `examples_before`. Steps,
/// seconds and hashes add up; the loss is the mean by examples; start_ns is the first step's; the rest, such as the norm, is
/// the last step's.
clients::ClientResult with_step(const clients::ClientResult& sum, const clients::ClientResult& step, std::uint64_t examples,
                                std::uint64_t examples_before);

/// One slot's task and the clients it trains.
struct Flight {
    clients::Task task;
    std::int64_t sent_round = 0;        // rounds finished when they were sent
    std::uint64_t version = 0;          // version of the model they started from
    double arrives_s = 0.0;             // simulated time
    std::uint64_t steps_left = 0;       // after this step, if each step arrives by itself
    std::uint64_t examples_before = 0;  // examples of the steps before this one
    bool waiting = false;               // for its turn to pull the model (bounded staleness) …
    std::uint64_t waits_since = 0;      // … since this version of the server
    bool put = false;                   // on the board
    bool arrived = false;               // keeps its slot until the round ends; may be replaced already
    std::uint32_t rank = 0;             // the rank that trains them …
    bool elsewhere = false;             // … is not this one
    std::int64_t finished_ns = 0;       // if it arrived elsewhere: when, by this host's now_ns()
    std::vector<Participant> clients;   // ascending ids

    /// At least one of its clients is not dropped.
    bool wanted() const;
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
};

/// What the barrier returns.
struct Arrivals {
    std::vector<aggregation::Update> updates;  // one per slot with an accepted client, by client id
    std::vector<ClientReport> clients;         // those that arrived and those left behind, by client id
    std::vector<std::size_t> slots;            // slots in the order of arrival …
    std::vector<std::uint32_t> order;          // … and the first client of each
    std::int64_t last_ns = 0;                  // when the last one arrived
    std::uint64_t num_arrived = 0;             // accepted clients, or steps if each arrives by itself …
    std::uint64_t staleness_sum = 0;           // … and the sum of their staleness
    Traffic traffic;

    /// Appends a later turn's arrivals.
    void append(const Arrivals& turn);

    std::size_t accepted() const;  // clients whose updates are in `updates`
    std::size_t left_behind() const;
    std::optional<double> train_loss() const;  // mean over accepted clients, weighted by examples; empty when there is none
    double staleness_mean() const;             // 0 when nothing was accepted
};

}  // namespace fedhive::sim
