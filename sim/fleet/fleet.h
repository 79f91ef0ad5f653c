// The worker processes and what passes between them and the coordinator: tasks out, updates back. The round loop speaks to the fleet in
// rounds; shared memory, door-bells and processes end here.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/round_barrier.h"
#include "clients/protocol/watcher.h"
#include "clients/training/engine.h"
#include "clients/training/task_runner.h"
#include "sim/config/config.h"
#include "sim/fleet/arrival_order.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/faults.h"
#include "sim/fleet/shared_aggregation.h"
#include "sim/round/flight.h"
#include "sim/round/mode.h"
#include "sim/round/round_record.h"
#include "sim/round/sampler.h"
#include "sim/round/server_state.h"
#include "sim/strategies/strategy.h"
#include "sim/workers/worker_pool.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fedhive::sim {

/// What became of a failure: retried, dropped, aborted (the run ends), replaced (a worker without a client), fewer_workers.
enum class FailureAction { Retried, Dropped, Aborted, Replaced, FewerWorkers };

/// "retried", "dropped", … as in events.jsonl.
const char* to_string(FailureAction action);

/// Told of every failure when it is found.
using FailureListener = std::function<void(const clients::ClientFailure& failure, FailureAction action)>;

/// Ends the run: policy abort, attempts used up, too many deaths in a row.
struct RunAborted : std::runtime_error {
    explicit RunAborted(clients::ClientFailure cause) : std::runtime_error(cause.describe()), failure(std::move(cause)) {}
    clients::ClientFailure failure;
};

struct FleetOptions {
    std::uint32_t workers = 1;  // processes; 0: tasks run in the coordinator
    SlotPlan slots;
    Mode mode;
    std::uint64_t test_chunk = 500;      // examples in one evaluation task
    std::uint64_t model_bytes = 0;       // of its parameters, without padding
    std::uint64_t activation_bytes = 0;  // of an example, at the cut of a split model
    /// Simulated seconds; empty: the wall clock decides.
    std::function<double(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic)> round_trip_s;
    std::vector<std::vector<std::uint32_t>>
        recorded_arrivals;  // per round, to be followed on the wall clock; empty: as they come
    FailuresConfig failures;
    std::string help_for_model;  // said where the global model is not finite
    FaultSchedule faults;
    std::filesystem::path logs;                                           // folder for worker-N.log; empty: none are kept
    std::vector<std::pair<std::string, std::string>> worker_environment;  // on top of this process's own
    /// Where workers share an MPS server, which one of them takes along when it dies: called when all are dead, before they are started anew;
    /// makes a new server and returns the environment of its clients. Empty: each worker dies alone.
    std::function<std::vector<std::pair<std::string, std::string>>()> renew_mps;
};

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
    void pull_down(const Cohort& cohort, ServerState& server, const Strategy& strategy);

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
    std::vector<InFlight> in_flight() const;

    /// Their ids, ascending, at any time: who has arrived may be sent again.
    Cohort on_their_way() const;

    /// One of those, after a resume: its training begins anew, from the model in its global region.
    void take_up(const InFlight& client, ServerState& server, const Strategy& strategy);

    /// The rule, of which the workers take ranges where they have nothing else to do and the sum is large enough to be worth it; else the rule
    /// itself. To be used before the next call, and before the slots are released. finish() waits; throws as evaluate().
    aggregation::Aggregator& with_workers(aggregation::Aggregator& rule, const Arrivals& arrived);

    /// The model's sums over the test examples, chunk by chunk in order. Waits; throws as barrier(), but goes on for kGrace after a
    /// first signal, since the round's model is made already.
    std::vector<clients::EvaluationResult> evaluate(const ServerState& server);
    static constexpr double kGrace = 10.0;  // s

    /// Between rounds, where the server's state is whole. Throws Interrupted.
    void throw_if_interrupted() const;

    /// Who is told of failures; nobody at first.
    void on_failure(FailureListener listener) { listener_ = std::move(listener); }
    const FailureCounts& failure_counts() const { return counts_; }
    void restore(const FailureCounts& counts) { counts_ = counts; }

    /// Finished and awaited tasks of the current wait; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const;

    /// Workers that have a task at this moment, and all that are left; from any thread. Cost: a look at every place of the board.
    std::pair<std::size_t, std::size_t> workers_busy() const;

    /// A round of `count` empty tasks, at most one a slot: what handing over costs by itself.
    void empty_round(std::size_t count);

private:
    /// What a wait is for.
    struct Awaited {
        std::vector<std::size_t> cells;
        std::size_t quorum = 0;  // of them
        std::size_t before = 0;  // that were waited for before, as progress is told
    };

    void send(std::size_t slot, const Flight& flight, ServerState& server);
    static bool wanted(const Flight& flight);
    double deadline_of(const Flight& flight) const;
    double due_of(const Flight& flight) const;
    std::uint64_t examples_per_epoch(std::uint32_t client_id) const;
    std::uint64_t examples_of(const Flight& flight, std::uint32_t client_id) const;
    Traffic traffic_of(const Flight& flight, std::uint32_t client_id) const;
    double longest_trip_s(const Flight& flight) const;
    bool put_sent();
    void put(std::size_t slot);
    bool is_done(std::size_t slot) const;
    std::vector<std::size_t> cells_of(std::size_t slot) const;
    std::vector<ExpectedArrival> expected_arrivals() const;
    bool order_is_known() const { return options_.round_trip_s || !options_.recorded_arrivals.empty(); }
    std::vector<ExpectedArrival> first_to_arrive(std::vector<ExpectedArrival> expected, std::size_t quorum) const;
    void settle(const std::function<Awaited()>& awaited, double grace_s);
    void await(const std::vector<ExpectedArrival>& flights, std::size_t quorum, std::size_t before);
    std::vector<ExpectedArrival> arrive_together(const ServerState& server);
    std::vector<ExpectedArrival> arrive_and_be_replaced(ServerState& server, const Replace& replace);
    std::vector<ExpectedArrival> first_finished(std::vector<ExpectedArrival> candidates, std::size_t quorum) const;
    Arrivals collect(const std::vector<ExpectedArrival>& arrivals, ServerState& server);
    void add_arrival(Arrivals& arrived, std::size_t position, std::size_t slot, const ServerState& server);
    ClientReport report_of(const Flight& flight, std::size_t slot, std::size_t i) const;
    void take_next_step(std::size_t slot, const ServerState& server);
    void pull_waiting(ServerState& server);
    void leave_behind(Arrivals& arrived, std::size_t slot, ServerState& server);
    std::size_t member_index(std::size_t slot, std::size_t i) const { return flights_[slot]->task.first + i; }
    std::uint64_t num_examples(std::uint32_t client_id) const { return dataset_.shard(client_id).size(); }

    // Work without a client: fleet_chunks.cpp.
    void run_chunks(clients::Task task, std::uint64_t total, std::uint64_t chunk);
    void aggregate(aggregation::ColumnRule rule, std::span<const aggregation::Update> updates);

    // What becomes of failures: fleet_failures.cpp.
    void resolve(std::vector<clients::FoundFailure> found);
    void resolve_one(clients::FoundFailure found);
    void replace_worker(const clients::FoundFailure& found, bool needed = false);
    void restart_all();
    void put_again(const std::vector<std::size_t>& cells);
    bool leave_fewer_workers(clients::ClientFailure& failure);
    void resolve_client(std::size_t slot, clients::ClientFailure failure, bool forgiven);
    void require_finite_model(const Flight& flight, clients::ClientFailure failure);

    // The board: the cells of slot 0, of slot 1, …, then one a chunk of the evaluation or range of the aggregate. The halves of a slot stand
    // side by side and are put one after the other, so they are claimed so: at most one half is without its other one, and whoever comes next
    // takes that.
    std::size_t cell_of(std::size_t slot) const { return slot * options_.mode.num_halves(); }
    std::size_t slot_of(std::size_t cell) const { return cell / options_.mode.num_halves(); }
    std::size_t first_chunk() const { return cell_of(flights_.size()); }
    void resolve_attempt(Attempts& entry, clients::ClientFailure failure, bool may_drop);
    void take_part(std::size_t slot, std::size_t participant);
    void tell(const clients::ClientFailure& failure, FailureAction action);

    // Workers that work together: fleet_groups.cpp.
    clients::FoundFailure recall_group(const clients::FoundFailure& first, std::vector<clients::FoundFailure>& others);
    std::vector<std::size_t> group_cells(std::size_t slot) const;
    void others_try_again(std::size_t slot);
    void put_group(std::size_t slot);
    [[noreturn]] void abort(clients::ClientFailure failure);

    FleetOptions options_;
    const aggregation::Arena& arena_;
    const clients::SharedDataset& dataset_;
    clients::WorkerPlan plan_;
    Deadlines deadlines_;
    clients::ControlBlock block_;
    clients::Watcher watcher_;
    std::unique_ptr<WorkerPool> pool_;
    clients::RoundBarrier barrier_;
    std::unique_ptr<clients::Trainer> trainer_;    // workers: 0
    std::unique_ptr<clients::TaskRunner> runner_;  // workers: 0
    FailureListener listener_;
    FailureCounts counts_;
    std::vector<std::size_t> active_;                                 // indices of the workers that are not retired
    std::vector<std::optional<Flight>> flights_;                      // by slot
    std::vector<std::size_t> withdrawn_;                              // cells of those left behind
    std::int64_t round_ = -1;                                         // of the last hand-out …
    std::size_t arrived_in_round_ = 0;                                // … and how many slots have arrived since …
    std::unordered_map<std::uint32_t, std::uint32_t> sent_in_round_;  // … and how often a client was sent
    std::vector<clients::Task> chunks_;                               // of the last evaluation or aggregate
    std::vector<Attempts> chunk_attempts_;
    std::unique_ptr<SharedAggregator> shared_;       // of the last large sum
    std::atomic<std::size_t> num_active_{0};         // size of active_, for other threads
    std::atomic<std::uint32_t> finished_before_{0};  // of the block's count, when this hand-out began …
    std::atomic<std::uint32_t> awaited_{0};          // … and how many it waits for
};

}  // namespace fedhive::sim
