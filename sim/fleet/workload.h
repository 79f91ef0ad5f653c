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

struct Work {
    std::uint64_t examples = 0;  // that the client trains on, counted as often as they are used
    std::uint64_t in_time =
        0;                    // examples whose training takes as long as the task: more than `examples` if the client measures
    std::uint64_t steps = 0;  // batches whose training takes as long
};

class Workload {
public:
    /// All must outlive this.
    Workload(const FleetOptions& options, const ArrivalOrder& order, const clients::WorkerPlan& plan,
             const clients::SharedDataset& dataset, const Deadlines& deadlines)
        : options_(options),
          order_(order),
          plan_(plan),
          dataset_(dataset),
          deadlines_(deadlines),
          of_reports_(measuring(plan.reports)),
          of_candidates_(measuring(plan.of_candidates)) {}

    std::uint64_t num_clients() const { return dataset_.map().num_clients; }
    /// n_k, the number of the client's distinct training examples.
    std::uint64_t num_examples(std::uint32_t client_id) const { return dataset_.shard(client_id).size(); }
    /// Number of examples in one pass of the client's training.
    std::uint64_t examples_per_epoch(std::uint32_t client_id) const { return examples_of_pass(num_examples(client_id)); }
    /// What this flight's task costs the client.
    Work work_of(const Flight& flight, std::uint32_t client_id) const;
    /// The cost of the measure that the sampler asks for, as the number of examples whose training takes as long: a third of the client's examples
    /// for a forward pass, all of them for a gradient.
    std::uint64_t examples_of_candidate(std::uint32_t client_id) const {
        return examples_to_measure(of_candidates_, num_examples(client_id));
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
    /// Number of the client's local steps in a round.
    std::uint64_t steps_of(std::uint32_t client_id) const { return plan_.training.steps_of(num_examples(client_id)); }

    /// Local steps of this flight's clients, except dropped ones.
    std::uint64_t local_steps(const Flight& flight) const;

    Traffic traffic_of(const Flight& flight, std::uint32_t client_id) const {
        return traffic_of(flight, client_id, work_of(flight, client_id));
    }
    Traffic traffic_of(const Flight& flight, std::uint32_t client_id, const Work& work) const;
    /// Simulated seconds of the client's round trip in this flight's task; empty on the wall clock.
    std::optional<double> trip_s(const Flight& flight, std::uint32_t client_id) const;
    /// Simulated seconds of its slowest client; 0 on the wall clock.
    double longest_trip_s(const Flight& flight) const;
    /// Seconds for one client of the flight, or for the clients that are trained together.
    double deadline_of(const Flight& flight) const;
    DueKey due_of(const Flight& flight) const;

private:
    /// What a client measures.
    struct Measuring {
        std::uint64_t passes = 0;  // forward passes over its examples
        bool gradient = false;     // of the model that was sent
    };
    Measuring measuring(const clients::Reports& measures) const;
    static std::uint64_t examples_to_measure(const Measuring& measures, std::uint64_t examples);
    std::uint64_t examples_of_pass(std::uint64_t own) const;
    std::uint64_t examples_of_task(const Flight& flight, std::uint64_t of_pass) const;

    const FleetOptions& options_;
    const ArrivalOrder& order_;
    const clients::WorkerPlan& plan_;
    const clients::SharedDataset& dataset_;
    const Deadlines& deadlines_;
    Measuring of_reports_, of_candidates_;
};

}  // namespace fedhive::sim
