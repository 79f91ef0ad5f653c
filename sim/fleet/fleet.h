// The worker processes and their traffic with the coordinator: tasks out, updates back. The round loop speaks to the fleet in
// rounds; shared memory, bells and processes end here. The fleet itself only decides which arrivals end a wait. Its parts; each
// knows only those before it:
//
//   workforce       the workers that are left                 board       which slot or chunk has which cell
//   failure_policy  the config's word on failures             order       which flights arrive first
//   workload        what a client goes through                flights     who is on the way, in which slot
//   chunks          work without a client                     recovery    what becomes of failures
//   wait            until enough is done                      collector   what has arrived
//   chunk_work      evaluation, shared aggregate
//
// With several ranks, each has a fleet: all know every flight, each puts on its board only the flights it trains, and
// rank_reports and ranked_aggregation combine the results.
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
#include <memory>
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

    /// Hands out the round: the published global model, the clients that train, their weights. Nobody starts yet. The cohort
    /// must fit the mode's free room, and none of its clients may be in flight. A client's weight is multiplied by its draws.
    void pull_down(const CountedCohort& cohort, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.pull_down(cohort, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// The same where each client of the cohort was drawn once.
    void pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy) {
        pull_down(CountedCohort{cohort}, server, strategy);
    }

    /// Lets the workers begin.
    void train();

    /// Called by a wait when a flight has arrived and others are still awaited, with the number of arrivals in this round:
    /// pulls down the clients that replace it, at the simulated time of the arrival.
    using Replace = std::function<void(std::size_t arrived)>;

    /// Waits for the mode's quorum of arrivals, or as many as the failure policy and availability leave, and advances simulated
    /// time to the last of them. Then waits for the root client, if the slot plan has one; it takes no simulated time. If clients
    /// may join later rounds, flights that arrive before the last one are replaced; all updates stay in their slots until
    /// release(). Throws RunAborted for a failure that the policy does not tolerate, Interrupted after a signal.
    Arrivals barrier(ServerState& server, const Replace& replace = {});

    /// Frees the slots of arrived and left-behind flights; their updates may not be read any more. If every step arrives by
    /// itself, clients with steps left take the present model instead and are sent on. Returns whether there are such clients.
    bool release(const Arrivals& arrived, ServerState& server);

    /// The flights at the end of a round, by slot.
    std::vector<InFlight> in_flight() const { return flights_.in_flight(); }

    /// Ids of the clients in flight, ascending, at any time. A client that has arrived may be sent again.
    Cohort on_their_way() const { return flights_.on_their_way(); }

    /// Takes up one client of in_flight() after a resume: its training begins anew, from the model in its global region.
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.take_up(client, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// An aggregator with the result of `rule` whose ranges the workers take, if they are idle and the sum is large enough;
    /// else `rule`. Use it before the next call and before release(). Its finish() waits; throws as evaluate().
    aggregation::Aggregator& with_workers(aggregation::Aggregator& rule, std::size_t num_updates);

    /// Inner products of rows of these updates less the row of updates[base] (inner_products.h), by the workers if
    /// they are idle and the updates large enough. Same conditions, waits and exceptions as the aggregator of with_workers().
    aggregation::InnerProducts inner_products(std::span<const aggregation::Update> updates, std::size_t base,
                                              const ProductRows& rows_of);

    /// For the K updates of `arrived`: the mean loss of update j's model on the examples of update i's client, at i K + j. sent: the global
    /// region that they began from. Every client is sent the K - 1 models that are not its own, and passes over its examples K
    /// times; simulated time advances by the slowest, and the traffic of `arrived` includes the models. Only with
    /// FleetOptions::cross_losses, and one rank. Waits, and throws, as evaluate().
    std::vector<double> cross_losses(ServerState& server, Arrivals& arrived, std::uint32_t sent);

    /// The global model's sums over the test examples, one result a chunk, in order. Waits; throws as barrier(), but goes on
    /// for ChunkWork::kGrace after a first signal, since the round's model exists already.
    std::vector<clients::EvaluationSums> evaluate(const ServerState& server) {
        return chunk_work_.evaluate(server, 0, dataset_.map().num_test);
    }
    /// The same over the test examples with a backdoor's trigger.
    std::vector<clients::EvaluationSums> evaluate_triggered(const ServerState& server) {
        return chunk_work_.evaluate(server, dataset_.map().num_test, dataset_.map().num_triggered);
    }

    /// The global model's sums over the held-out examples of each of FleetOptions::evaluated_clients, in their order.
    /// Personalized: of the model that a local epoch at `rate` on the client's own examples makes of it. Waits, and
    /// throws, as evaluate().
    std::vector<clients::EvaluationSums> evaluate_clients(const ServerState& server) {
        return chunk_work_.evaluate_clients(server, dataset_.map());
    }
    std::vector<clients::EvaluationSums> evaluate_personalized(const ServerState& server, const clients::RoundRate& rate);

    /// The sampler's measure (SamplerSpec::measure) of the published global model on the training examples of each of these clients, at
    /// most FleetOptions::most_measured, in their order (ascending ids); empty if it is not finite. Simulated time advances
    /// to the answer of the slowest, and the next barrier's traffic includes what they are sent. Call it before pull_down, when
    /// nobody is in flight. Waits, and throws, as evaluate().
    std::vector<std::optional<double>> measure(ServerState& server, const Cohort& clients);

    /// Call between rounds, when the server's state is whole. Throws Interrupted after a signal. With several ranks it does
    /// nothing: each reports its signal when they meet at the barrier.
    void throw_if_interrupted() const {
        if (options_.ranks->is_alone()) workforce_.throw_if_interrupted();
    }

    /// Sets the receiver of failures; none at first.
    void on_failure(FailureListener listener) { policy_.on_failure(std::move(listener)); }
    const FailureCounts& failure_counts() const { return policy_.counts(); }
    void restore(const FailureCounts& counts) { policy_.restore(counts); }

    /// Finished and awaited tasks of the current wait; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const { return wait_.tasks_done(); }

    /// Workers that have a task now, and all that are left; from any thread. Cost: reads every cell of the board.
    std::pair<std::size_t, std::size_t> workers_busy() const { return workforce_.busy(); }

    /// Runs `count` empty tasks, at most one a slot: the cost of the hand-over alone.
    void empty_round(std::size_t count);

private:
    Expected arrive_together(const ServerState& server);
    void await_root(std::size_t arrived);
    Expected arrive_and_be_replaced(ServerState& server, const Replace& replace);
    ArrivalOrder::Wait waits_after(std::size_t before);
    bool workers_may_sum() const;
    std::uint32_t rank_of(const aggregation::Update& update) const;
    aggregation::Aggregator& over_ranks(aggregation::Aggregator& rule, bool workers_idle);
    void await(const Expected& flights, std::size_t quorum, std::size_t before);

    FleetOptions options_;
    const aggregation::Arena& arena_;
    const clients::SharedDataset& dataset_;
    clients::WorkerPlan plan_;
    Deadlines deadlines_;
    Workforce workforce_;
    Board board_;
    FailurePolicy policy_;
    std::unique_ptr<ArrivalOrder> order_;
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
    bool has_new_ = false;  // flights were put, and the workers do not know of them
    // Of measure(), since the last barrier:
    Traffic measured_;
    std::optional<double> before_measuring_s_;  // simulated time
};

}  // namespace fedhive::sim
