// The worker processes and what passes between them and the coordinator: tasks out, updates back. The round loop speaks to the fleet in
// rounds; shared memory, door-bells and processes end here. The fleet itself only says who ends a wait; its parts, of which each knows those
// before it:
//
//   workforce       the workers that are left                 board       whose cell is whose
//   failure_policy  the config's word on failures             workload    what a client goes through
//   flights         who is on the way, in which slot          chunks      work without a client
//   recovery        what becomes of failures                  wait        until enough is done
//   collector       what has arrived                          chunk_work  evaluation, shared aggregate
//
// Where there are several ranks, each has a fleet: all know of every flight, each puts on its board what it trains itself, and rank_reports and
// ranked_aggregation bring together what came of it.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "sim/fleet/board.h"
#include "sim/fleet/chunk_work.h"
#include "sim/fleet/chunks.h"
#include "sim/fleet/collector.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/fleet_options.h"
#include "sim/fleet/flights.h"
#include "sim/fleet/rank_reports.h"
#include "sim/fleet/ranked_aggregation.h"
#include "sim/fleet/recovery.h"
#include "sim/fleet/wait.h"
#include "sim/fleet/workforce.h"
#include "sim/fleet/workload.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

class Fleet {
public:
    /// Starts the workers; they get ready while the caller goes on. The arena and the data set must outlive the fleet; call
    /// clients::block_interrupts() before. Throws Fault when a process cannot be started, Interrupted after a signal.
    Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
          const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer = clients::make_trainer);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    std::uint64_t num_clients() const { return dataset_.map().num_clients; }

    /// Hands out the round: the published global model, who trains, with what weight. Nobody starts yet. At most as many clients as the mode
    /// has room for, none of them on their way already.
    void pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.pull_down(cohort, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// Lets the workers begin.
    void train();

    /// What a wait calls when somebody has arrived and others are still waited for, with the number of arrivals in this round: pulls down whoever is
    /// to go in their place, at the simulated time of the arrival.
    using Replace = std::function<void(std::size_t arrived)>;

    /// Waits for the mode's quorum of arrivals, or as many as the failure policy and availability leave; simulated time goes on to the last of
    /// them. Where clients may join later rounds, who arrives before the last one is replaced; of their updates all stay in their slots until
    /// release(). Throws RunAborted for a failure the policy does not get over, Interrupted after a signal.
    Arrivals barrier(ServerState& server, const Replace& replace = {});

    /// The slots of those who arrived, and of those left behind, are free again; their updates may not be read any more. Where every step
    /// arrives by itself, clients with steps left take the present model instead and are sent on: true while there are such.
    bool release(const Arrivals& arrived, ServerState& server);

    /// Who is on their way where a round has ended, by slot.
    std::vector<InFlight> in_flight() const { return flights_.in_flight(); }

    /// Their ids, ascending, at any time: who has arrived may be sent again.
    Cohort on_their_way() const { return flights_.on_their_way(); }

    /// One of those, after a resume: its training begins anew, from the model in its global region.
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.take_up(client, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// The rule, of which the workers take ranges where they have nothing else to do and the sum is large enough to be worth it; else the rule
    /// itself. To be used before the next call, and before the slots are released. finish() waits; throws as evaluate().
    aggregation::Aggregator& with_workers(aggregation::Aggregator& rule, const Arrivals& arrived);

    /// The model's sums over the test examples, chunk by chunk in order. Waits; throws as barrier(), but goes on for ChunkWork::kGrace after a
    /// first signal, since the round's model is made already.
    std::vector<clients::EvaluationResult> evaluate(const ServerState& server) {
        return chunk_work_.evaluate(server, dataset_.map().num_test);
    }

    /// The global model's sums over what each of FleetOptions::evaluated_clients holds out, in their order; and those of the models that a
    /// local epoch under `objective` makes of it, each on the client's own. Waits, and throws, as evaluate().
    std::vector<clients::EvaluationResult> evaluate_clients(const ServerState& server) {
        return chunk_work_.evaluate_clients(server, dataset_.map());
    }
    std::vector<clients::EvaluationResult> evaluate_personalized(const ServerState& server,
                                                                 const clients::Objective& objective);

    /// Between rounds, where the server's state is whole. Throws Interrupted. Of several ranks each says so where they meet, at the barrier.
    void throw_if_interrupted() const {
        if (options_.ranks->is_alone()) workforce_.throw_if_interrupted();
    }

    /// Who is told of failures; nobody at first.
    void on_failure(FailureListener listener) { policy_.on_failure(std::move(listener)); }
    const FailureCounts& failure_counts() const { return policy_.counts(); }
    void restore(const FailureCounts& counts) { policy_.restore(counts); }

    /// Finished and awaited tasks of the current wait; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const { return wait_.tasks_done(); }

    /// Workers that have a task at this moment, and all that are left; from any thread. Cost: a look at every place of the board.
    std::pair<std::size_t, std::size_t> workers_busy() const { return workforce_.busy(); }

    /// A round of `count` empty tasks, at most one a slot: what handing over costs by itself.
    void empty_round(std::size_t count);

private:
    std::vector<ExpectedArrival> arrive_together(const ServerState& server);
    std::vector<ExpectedArrival> arrive_and_be_replaced(ServerState& server, const Replace& replace);
    std::vector<ExpectedArrival> next_to_arrive(std::size_t arrived);
    aggregation::Aggregator& over_ranks(aggregation::Aggregator& rule, bool workers_idle);
    void await(const std::vector<ExpectedArrival>& flights, std::size_t quorum, std::size_t before);
    std::vector<ExpectedArrival> first_finished(std::vector<ExpectedArrival> candidates, std::size_t quorum) const;

    FleetOptions options_;
    const aggregation::Arena& arena_;
    const clients::SharedDataset& dataset_;
    clients::WorkerPlan plan_;
    Deadlines deadlines_;
    Workforce workforce_;
    Board board_;
    FailurePolicy policy_;
    Workload workload_;
    Flights flights_;
    Chunks chunks_;
    Recovery recovery_;
    Wait wait_;
    Collector collector_;
    RankReports reports_;
    ChunkWork chunk_work_;
    std::optional<RankedAggregator> ranked_;
    bool workers_may_sum_now_ = false;
};

}  // namespace fedhive::sim
