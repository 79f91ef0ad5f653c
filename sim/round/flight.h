// Clients on their way: from the hand-out of a slot's task to the arrival of what they made of it, which may be many rounds later.
#pragma once

#include "aggregation/math/aggregator.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/task.h"
#include "sim/modes/mode.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// How a client, or a chunk of the evaluation, fares.
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
    clients::ClientResult result{};  // of an arrived one; of its steps so far where each arrives by itself
};

/// The result of a client's steps so far, with one more of `examples` examples to it. The hash is the sum over the steps' hashes, the norm
/// that of the last.
clients::ClientResult with_step(const clients::ClientResult& sum, const clients::ClientResult& step, std::uint64_t examples,
                                std::uint64_t examples_before);

/// The clients of one slot.
struct Flight {
    clients::Task task;
    std::int64_t sent_round = 0;        // rounds finished when they were sent
    std::uint64_t version = 0;          // of the model they started from
    double arrives_s = 0.0;             // simulated time
    std::uint64_t steps_left = 0;       // after this one, where each step arrives by itself
    std::uint64_t examples_before = 0;  // this one
    bool waiting = false;               // for its turn to pull the model (bounded staleness) …
    std::uint64_t waits_since = 0;      // … since the server had made so many steps
    bool put = false;                   // on the board
    bool arrived = false;               // it waits in its slot for the others of the round, and is replaced already
    std::uint32_t rank = 0;             // who trains them …
    bool elsewhere = false;             // … another one than this
    std::int64_t finished_ns = 0;       // of an arrived one elsewhere, by this host's now_ns()
    std::vector<Participant> clients;   // ascending ids

    /// Somebody of them is left to train.
    bool wanted() const;
};

/// What is to be known of a client on its way where a round ends, for the sampler and for a checkpoint.
struct InFlight {
    std::size_t slot = 0;
    std::uint32_t client_id = 0;
    double weight = 1.0;
    std::int64_t sent_round = 0;
    std::uint32_t repeat = 0;  // how often it had been sent in that round before
    std::uint64_t version = 0;
    std::uint32_t global_index = 0;  // where the model lies that it started from
    double arrives_s = 0.0;
};

/// One client after the barrier, as in clients.csv.
struct ClientReport {
    std::uint32_t client_id = 0;
    std::uint32_t worker = 0;  // of the last attempt
    std::uint32_t slot = 0;
    std::uint64_t num_examples = 0;
    std::int64_t sent_round = 0;                    // rounds finished when it was sent
    std::uint64_t staleness = 0;                    // server steps since
    clients::ClientResult result{};                 // of an accepted client
    std::optional<clients::FailureKind> failure{};  // of one that was dropped, or came late
    bool elsewhere = false;                         // trained by another rank: its slot is empty here
};

/// What the barrier returns.
struct Arrivals {
    std::vector<aggregation::Update> updates;  // one per slot with an accepted client, by client id
    std::vector<ClientReport> clients;         // who arrived, and who was left behind, by client id
    std::vector<std::size_t> slots;            // of those who arrived, in the order of their arrival …
    std::vector<std::uint32_t> order;          // … and the first client of each
    std::int64_t last_ns = 0;                  // when the last one arrived
    std::uint64_t num_arrived = 0;             // clients whose work was accepted, each step where each arrives by itself …
    std::uint64_t staleness_sum = 0;           // … and over these: server steps since they were sent
    Traffic traffic;

    /// A turn's arrivals, after those of the turns before it.
    void append(const Arrivals& turn);

    std::size_t accepted() const;  // clients whose updates are in `updates`
    std::size_t left_behind() const;
    std::optional<double> train_loss() const;  // mean over accepted clients, weighted by examples; empty when there is none
    double staleness_mean() const;             // 0 when nothing was accepted
};

}  // namespace fedhive::sim
