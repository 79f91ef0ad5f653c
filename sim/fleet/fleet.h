// The worker processes and what they exchange with the coordinator: tasks out, updates back. The round loop sees rounds only; shared memory and
// processes are hidden behind this class. A flight is a slot whose clients were sent a model and have not reported yet. The parts of a fleet, each
// of which knows only those before it:
//
//   workforce       the remaining workers                     board       the cell of each slot or chunk
//   failure_policy  the config's policy on failures           order       the order in which flights arrive
//   workload        a client's steps, bytes, times            flights     the flights and their slots
//   chunks          tasks without a client                    recovery    resolves failures
//   wait            waits until enough tasks are done         collector   the results of arrived flights
//   chunk_work      evaluation, shared aggregation
//
// With several ranks, each rank has a fleet: all know every flight, each puts on its board only the flights that it trains, and rank_reports and
// ranked_aggregation combine the results.
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

    /// Prepares a round's flights: the published global model, the clients that train, their weights. train() starts them. The mode must have
    /// free slots for the cohort, and none of its clients may be in flight. A client's weight is multiplied by its number of draws.
    void pull_down(const CountedCohort& cohort, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.pull_down(cohort, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// pull_down() of a cohort in which each client was drawn once.
    void pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy) {
        pull_down(CountedCohort{cohort}, server, strategy);
    }

    /// Starts the workers on the prepared flights.
    void train();

    /// Called by barrier() when a flight has arrived and others are still awaited, with the number of arrivals in this round. Sends out the clients
    /// that replace it, at the simulated time of the arrival.
    using Replace = std::function<void(std::size_t arrived)>;

    /// Waits for the mode's quorum of arrivals, or for all flights if failures and availability leave fewer. Simulated time advances to
    /// the last arrival. Then waits for the root client, if the slot plan has one; it takes no simulated time. If clients may join
    /// later rounds, `replace` is called for each flight that arrives before the last one. Updates stay in their slots until release(). Throws RunAborted for a failure that the policy does not tolerate, Interrupted after a signal.
    Arrivals barrier(ServerState& server, const Replace& replace = {});

    /// Frees the slots of arrived and left-behind flights; their updates may not be read any more. In mode parameter_server, where each step
    /// arrives by itself, clients with steps left get the present model instead and go on. Returns whether there are such clients.
    bool release(const Arrivals& arrived, ServerState& server);

    /// The flights at the end of a round, by slot.
    std::vector<InFlight> in_flight() const { return flights_.in_flight(); }

    /// Ids of the clients in flight, ascending, at any time. A client that has arrived may be sent again.
    Cohort on_their_way() const { return flights_.on_their_way(); }

    /// After a resume: starts the training of one client of in_flight() again, from the model in its global region.
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy) {
        policy_.same_on_all_ranks(true);
        flights_.take_up(client, server, strategy);
        policy_.same_on_all_ranks(false);
    }

    /// An aggregator with the result of `rule` whose ranges the workers compute, if they are idle and the sum is large enough; else `rule`. Valid
    /// until the next call or release(). Its finish() waits; throws as evaluate().
    aggregation::Aggregator& with_workers(aggregation::Aggregator& rule, std::size_t num_updates);

    /// Inner products of the vectors that rows_of selects in these updates (product_rows.h), with that of updates[base] as r
    /// (inner_products.h). Workers compute ranges, under the same conditions as for with_workers(). Waits, and throws, as evaluate().
    aggregation::InnerProducts inner_products(std::span<const aggregation::Update> updates, std::size_t base,
                                              const ProductRows& rows_of);

    /// result[i K + j] = mean loss of update j's model on the examples of update i's client, for the K updates of `arrived`. sent: the global region
    /// from which they began. Each client is sent the K - 1 models that are not its own and evaluates K models; simulated time advances by the
    /// slowest client, and the traffic of `arrived` includes the models. Only with FleetOptions::cross_losses, and one rank. Waits, and throws,
    /// as evaluate().
    std::vector<double> cross_losses(ServerState& server, Arrivals& arrived, std::uint32_t sent);

    /// The global model's sums over the test examples, one result a chunk, in order. Waits; throws as barrier(), but goes on
    /// for ChunkWork::kGrace after a first signal, since the round's model exists already.
    std::vector<clients::EvaluationSums> evaluate(const ServerState& server) {
        return chunk_work_.evaluate(server, 0, dataset_.map().num_test);
    }
    /// evaluate() over the test examples with a backdoor's trigger.
    std::vector<clients::EvaluationSums> evaluate_triggered(const ServerState& server) {
        return chunk_work_.evaluate(server, dataset_.map().num_test, dataset_.map().num_triggered);
    }

    /// The global model's sums over the held-out examples of each of FleetOptions::evaluated_clients, in their order.
    /// Personalized: those of the global model after a local epoch at `rate` on the client's own examples. Waits, and throws, as
    /// evaluate().
    std::vector<clients::EvaluationSums> evaluate_clients(const ServerState& server) {
        return chunk_work_.evaluate_clients(server, dataset_.map());
    }
    std::vector<clients::EvaluationSums> evaluate_personalized(const ServerState& server, const clients::RoundRate& rate);

    /// The sampler's measure (SamplerSpec::measure) of the published global model on the training examples of each of these clients, at
    /// most FleetOptions::most_measured, in their order (ascending ids); empty if it is not finite. Simulated time advances to the answer of the
    /// slowest client, and the next barrier's traffic includes what they are sent. To be called before pull_down, when no client is in flight.
    /// Waits, and throws, as evaluate().
    std::vector<std::optional<double>> measure(ServerState& server, const Cohort& clients);

    /// To be called between rounds, when the server's state is consistent. Throws Interrupted after a signal. With several ranks it does nothing,
    /// since each reports its signal at the barrier.
    void throw_if_interrupted() const {
        if (options_.ranks->is_alone()) workforce_.throw_if_interrupted();
    }

    /// Sets the receiver of failures; none at first.
    void on_failure(FailureListener listener) { policy_.on_failure(std::move(listener)); }
    const FailureCounts& failure_counts() const { return policy_.counts(); }
    void restore(const FailureCounts& counts) { policy_.restore(counts); }

    /// Finished and awaited tasks of the current wait; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const { return wait_.tasks_done(); }

    /// Number of workers that have a task now, and of all remaining workers; from any thread. Cost: reads every cell of the board.
    std::pair<std::size_t, std::size_t> workers_busy() const { return workforce_.busy(); }

    /// Runs `count` empty tasks, at most one a slot, to measure the cost of tasks without work.
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
    bool has_new_ = false;  // flights were put, and the workers are not woken yet
    // Of measure(), since the last barrier:
    Traffic measured_;
    std::optional<double> before_measuring_s_;  // simulated time
};

}  // namespace fedhive::sim
