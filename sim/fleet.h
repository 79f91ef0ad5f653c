// The worker processes and what passes between them and the coordinator: tasks out, updates back. The round loop speaks to the fleet in
// rounds; shared memory, door-bells and processes end here.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/process.h"
#include "clients/protocol/round_barrier.h"
#include "clients/protocol/watcher.h"
#include "clients/training/worker.h"
#include "sim/sampler.h"
#include "sim/server_state.h"
#include "sim/strategies/strategy.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace fedhive::sim {

/// One cohort member after the barrier, as in clients.csv.
struct ClientReport {
    std::uint32_t client_id = 0;
    std::uint32_t worker = 0;
    std::uint32_t slot = 0;
    std::uint64_t num_examples = 0;
    clients::ClientResult result;
};

/// What the barrier returns.
struct Arrivals {
    std::vector<aggregation::Update> updates;  // one per slot, in cohort order
    std::vector<ClientReport> clients;         // one per accepted client, in cohort order
    std::int64_t last_ns = 0;                  // when the last one arrived
    double train_loss() const;                 // mean over clients, weighted by examples
};

/// Ends the run under `failures.policy: abort`.
struct RunAborted : std::runtime_error {
    explicit RunAborted(clients::ClientFailure cause) : std::runtime_error(cause.describe()), failure(std::move(cause)) {}
    clients::ClientFailure failure;
};

struct FleetOptions {
    std::uint32_t workers = 1;           // processes; 0: tasks run in the coordinator
    std::uint64_t clients_per_slot = 1;  // a power of two
    std::uint64_t max_cohort = 1;
    std::uint64_t test_chunk = 500;  // examples in one evaluation task
    double deadline_s = 300.0;
    std::filesystem::path logs;  // folder for worker-N.log; empty: none are kept
};

class Fleet {
public:
    /// Starts the workers; they get ready while the caller goes on. The arena and the data set must outlive the fleet; call
    /// clients::block_interrupts() before. Throws Fault when a process cannot be started.
    Fleet(const FleetOptions& options, clients::WorkerPlan plan, const aggregation::Arena& arena,
          const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer = clients::make_libtorch_trainer);

    /// Stops the workers: asks first, kills what has not stopped within a second. Nothing is left behind.
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    std::uint64_t num_clients() const { return dataset_.map().num_clients; }

    /// Hands out the round: the published global model, who trains, with what weight. Nobody starts yet.
    void pull_down(const Cohort& cohort, const ServerState& server, const Strategy& strategy);

    /// Lets the workers begin.
    void train();

    /// Waits for `quorum` clients. Throws RunAborted for a failed client or worker, Interrupted after a signal.
    Arrivals barrier(std::size_t quorum);

    /// The model's sums over the test examples, chunk by chunk in order. Waits; throws as barrier().
    std::vector<clients::EvaluationResult> evaluate(const ServerState& server);

    /// Finished and all tasks of the current hand-out; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const;

    /// A round of `count` empty tasks: what handing over costs by itself.
    void empty_round(std::size_t count);

private:
    void spawn(std::uint32_t worker);
    std::vector<clients::TaskOutcome> run_tasks(std::size_t quorum);
    clients::ClientFailure autopsy(std::size_t worker);
    std::uint64_t num_examples(std::uint32_t client_id) const { return dataset_.shard(client_id).size(); }

    FleetOptions options_;
    const aggregation::Arena& arena_;
    const clients::SharedDataset& dataset_;
    clients::ControlBlock block_;
    clients::Watcher watcher_;
    clients::RoundBarrier barrier_;
    std::vector<clients::ChildProcess> workers_;
    std::unique_ptr<clients::Trainer> trainer_;    // workers: 0
    std::unique_ptr<clients::TaskRunner> runner_;  // workers: 0
    clients::WorkerPlan plan_;
    Cohort cohort_;
    std::vector<double> weights_;  // of the cohort, in its order
    std::vector<clients::Task> tasks_;
};

}  // namespace fedhive::sim
