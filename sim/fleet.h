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
#include "clients/training/worker.h"
#include "sim/config/config.h"
#include "sim/deadlines.h"
#include "sim/faults.h"
#include "sim/sampler.h"
#include "sim/server_state.h"
#include "sim/strategies/strategy.h"
#include "sim/worker_pool.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// One cohort member after the barrier, as in clients.csv.
struct ClientReport {
    std::uint32_t client_id = 0;
    std::uint32_t worker = 0;  // of the last attempt
    std::uint32_t slot = 0;
    std::uint64_t num_examples = 0;
    clients::ClientResult result;                   // of an accepted client
    std::optional<clients::FailureKind> failure{};  // of one that was dropped
};

/// What the barrier returns.
struct Arrivals {
    std::vector<aggregation::Update> updates;  // one per slot with an accepted client, in cohort order
    std::vector<ClientReport> clients;         // the whole cohort, in its order
    std::int64_t last_ns = 0;                  // when the last one arrived

    std::size_t accepted() const;              // clients whose updates are in `updates`
    std::optional<double> train_loss() const;  // mean over accepted clients, weighted by examples; empty when there is none
};

/// What became of a failure: retried, dropped, aborted (the run ends), replaced (a worker without a client), fewer_workers.
enum class FailureAction { Retried, Dropped, Aborted, Replaced, FewerWorkers };

/// "retried", "dropped", … as in events.jsonl.
const char* to_string(FailureAction action);

/// How often since the first round; kept over a resume.
struct FailureCounts {
    std::uint64_t failures = 0;  // all
    std::uint64_t retried = 0;
    std::uint64_t dropped = 0;
    std::uint64_t workers_replaced = 0;
    std::uint64_t deaths_in_a_row = 0;  // workers lost since the last accepted update
};

/// Told of every failure when it is found.
using FailureListener = std::function<void(const clients::ClientFailure& failure, FailureAction action)>;

/// Ends the run: policy abort, attempts used up, too many deaths in a row.
struct RunAborted : std::runtime_error {
    explicit RunAborted(clients::ClientFailure cause) : std::runtime_error(cause.describe()), failure(std::move(cause)) {}
    clients::ClientFailure failure;
};

struct FleetOptions {
    std::uint32_t workers = 1;           // processes; 0: tasks run in the coordinator
    std::uint64_t clients_per_slot = 1;  // a power of two
    std::uint64_t max_cohort = 1;
    std::uint64_t test_chunk = 500;  // examples in one evaluation task
    FailuresConfig failures;
    FaultSchedule faults;
    std::filesystem::path logs;  // folder for worker-N.log; empty: none are kept
};

class Fleet {
public:
    /// Starts the workers; they get ready while the caller goes on. The arena and the data set must outlive the fleet; call
    /// clients::block_interrupts() before. Throws Fault when a process cannot be started.
    Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
          const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer = clients::make_libtorch_trainer);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    std::uint64_t num_clients() const { return dataset_.map().num_clients; }

    /// Hands out the round: the published global model, who trains, with what weight. Nobody starts yet.
    void pull_down(const Cohort& cohort, const ServerState& server, const Strategy& strategy);

    /// Lets the workers begin.
    void train();

    /// Waits for `quorum` clients, or as many as the failure policy leaves. Throws RunAborted for a failure the policy does not get over,
    /// Interrupted after a signal.
    Arrivals barrier(std::size_t quorum);

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

    /// Finished and all tasks of the current hand-out; a hint for progress lines, from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const;

    /// A round of `count` empty tasks: what handing over costs by itself.
    void empty_round(std::size_t count);

private:
    /// How a cohort member, or a chunk of the evaluation, fares.
    struct Attempts {
        std::int64_t attempt = 1;   // from 1
        std::int64_t forgiven = 0;  // attempts that ran out of memory and left fewer workers
        std::uint32_t worker = 0;   // of the last failed one
        std::optional<clients::FailureKind> dropped;
    };

    bool wanted(const clients::Task& task) const;
    double deadline_of(const clients::Task& task) const;
    void settle(std::size_t quorum, double grace_s);
    void count_progress();
    void publish_again(std::size_t task_index);
    std::uint64_t num_examples(std::uint32_t client_id) const { return dataset_.shard(client_id).size(); }

    // What becomes of failures: fleet_failures.cpp.
    void resolve(clients::FoundFailure found);
    void replace_worker(const clients::FoundFailure& found);
    bool leave_fewer_workers(clients::ClientFailure& failure);
    void resolve_task(std::size_t task_index, const clients::ClientFailure& failure);
    std::size_t blamed_entry(std::size_t task_index, const clients::ClientFailure& failure) const;
    void resolve_attempt(std::size_t entry, clients::ClientFailure failure, bool may_drop);
    void take_part(std::size_t member, std::uint32_t round);
    void tell(const clients::ClientFailure& failure, FailureAction action);
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
    std::vector<std::size_t> active_;  // indices of the workers that are not retired
    Cohort cohort_;
    std::vector<double> weights_;     // of the cohort, in its order
    std::vector<Attempts> attempts_;  // per member of the cohort, or per chunk of the evaluation
    std::vector<clients::Task> tasks_;
    std::size_t done_ = 0;  // tasks of this hand-out, when last looked
};

}  // namespace fedhive::sim
