// The cost of a client's work in a flight: examples, bytes, simulated time, deadline, place in the queue.
#pragma once

#include "clients/data/shared_dataset.h"
#include "clients/trainers/worker_plan.h"
#include "sim/fleet/arrival_order.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/due_key.h"
#include "sim/round/flight.h"
#include "sim/round/server_state.h"

#include <cstdint>
#include <optional>

namespace fedhive::sim {

class Workload {
public:
    /// All must outlive this.
    Workload(const FleetOptions& options, const ArrivalOrder& order, const clients::WorkerPlan& plan,
             const clients::SharedDataset& dataset, const Deadlines& deadlines)
        : options_(options), order_(order), plan_(plan), dataset_(dataset), deadlines_(deadlines) {}

    std::uint64_t num_clients() const { return dataset_.map().num_clients; }
    /// n_k, the number of the client's distinct training examples.
    std::uint64_t num_examples(std::uint32_t client_id) const { return dataset_.shard(client_id).size(); }
    /// Number of examples in one pass of the client's training.
    std::uint64_t examples_per_epoch(std::uint32_t client_id) const;
    /// Number of examples that the client trains on in this flight's task, counted as often as they are used.
    std::uint64_t examples_of(const Flight& flight, std::uint32_t client_id) const;
    /// The cost of a client's measures, as the number of examples whose training takes as long: a third of its examples for a forward pass, all of
    /// them for a gradient.
    std::uint64_t examples_to_measure(const clients::Reports& measures, std::uint32_t client_id) const;
    /// examples_to_measure() for the measure that the sampler asks for.
    std::uint64_t examples_of_candidate(std::uint32_t client_id) const {
        return examples_to_measure(plan_.of_candidates, client_id);
    }
    /// Bytes that a client of this round is sent: the model, and the memories that are sent with it.
    std::uint64_t bytes_to(const ServerState& server, std::uint32_t client_id) const {
        return server.sent ? server.sent->bytes_to(client_id, options_.sent_bytes) : options_.model_bytes;
    }
    /// The traffic of a client that measures for the sampler: the model down, its measure up.
    Traffic traffic_to_measure(const ServerState& server, std::uint32_t client_id) const {
        return {bytes_to(server, client_id), sizeof(double)};
    }
    /// Simulated seconds of such a measurement, with sending; empty on the wall clock.
    std::optional<double> measuring_s(const ServerState& server, std::uint32_t client_id) const {
        return order_.trip_s(client_id, examples_of_candidate(client_id), traffic_to_measure(server, client_id));
    }
    /// The cost of `passes` forward passes over the client's held-out examples (its training examples if it has none), as the number of examples
    /// whose training takes as long.
    std::uint64_t examples_of_passes(std::uint32_t client_id, std::uint64_t passes) const;
    /// The cost of the flight's task for the client, as a number of examples to train: examples_of(), and examples_to_measure() if it measures.
    std::uint64_t examples_in_time(const Flight& flight, std::uint32_t client_id) const;
    /// Number of the client's local steps in a round.
    std::uint64_t steps_of(std::uint32_t client_id) const { return plan_.training.steps_of(num_examples(client_id)); }

    /// Batches that the client goes through in this flight's task, or as many as take as long.
    std::uint64_t steps_of(const Flight& flight, std::uint32_t client_id) const;
    /// Local steps of this flight's clients, except dropped ones.
    std::uint64_t local_steps(const Flight& flight) const;

    Traffic traffic_of(const Flight& flight, std::uint32_t client_id) const;
    /// Simulated seconds of the client's round trip in this flight's task; empty on the wall clock.
    std::optional<double> trip_s(const Flight& flight, std::uint32_t client_id) const;
    /// Simulated seconds of its slowest client; 0 on the wall clock.
    double longest_trip_s(const Flight& flight) const;
    /// Seconds for one client of the flight, or for the clients that are trained together.
    double deadline_of(const Flight& flight) const;
    DueKey due_of(const Flight& flight) const;

private:
    const FleetOptions& options_;
    const ArrivalOrder& order_;
    const clients::WorkerPlan& plan_;
    const clients::SharedDataset& dataset_;
    const Deadlines& deadlines_;
};

}  // namespace fedhive::sim
