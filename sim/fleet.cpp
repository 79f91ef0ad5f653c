#include "sim/fleet.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/mean.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;
using clients::Task;
using clients::TaskKind;
using clients::TaskOutcome;
using clients::TaskPhase;

namespace {

std::uint64_t divide_up(std::uint64_t total, std::uint64_t size) { return (total + size - 1) / size; }

clients::ControlGeometry control_geometry(const FleetOptions& options, const clients::DatasetMap& data) {
    clients::ControlGeometry geometry;
    geometry.num_workers = std::max(1U, options.workers);
    const std::uint64_t slots = divide_up(options.max_cohort, options.clients_per_slot);
    const std::uint64_t chunks = divide_up(data.num_test, options.test_chunk);
    geometry.max_tasks = static_cast<std::uint32_t>(std::max<std::uint64_t>({slots, chunks, geometry.num_workers}));
    geometry.max_members = options.max_cohort;
    return geometry;
}

/// Told to every library before it starts, so that none of them takes more threads than the experiment says.
std::vector<std::pair<std::string, std::string>> worker_environment(int threads) {
    const std::string count = std::to_string(threads);
    return {{"OMP_NUM_THREADS", count},
            {"MKL_NUM_THREADS", count},
            {"OPENBLAS_NUM_THREADS", count},
            {"CUDA_MODULE_LOADING", "LAZY"},
            {"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}};
}

}  // namespace

double Arrivals::train_loss() const {
    double sum = 0.0;
    double examples = 0.0;
    for (const ClientReport& client : clients) {
        sum += client.result.train_loss * static_cast<double>(client.num_examples);
        examples += static_cast<double>(client.num_examples);
    }
    return sum / examples;
}

Fleet::Fleet(const FleetOptions& options, clients::WorkerPlan plan, const aggregation::Arena& arena,
             const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer)
    : options_(options),
      arena_(arena),
      dataset_(dataset),
      block_(clients::ControlBlock::create(control_geometry(options, dataset.map()))),
      watcher_([this] { block_.header().coordinator_bell.post(); }),
      barrier_(block_, watcher_, options.deadline_s, [this](std::size_t worker) { return autopsy(worker); }),
      plan_(plan) {
    block_.set_plan(plan_);
    if (options_.workers == 0) {
        trainer_ = make_trainer(plan_, dataset_);
        runner_ = std::make_unique<clients::TaskRunner>(block_, 0, arena_, dataset_, plan_.training, trainer_->step(),
                                                        trainer_->evaluation());
    }
    for (std::uint32_t worker = 0; worker < options_.workers; ++worker) spawn(worker);
}

void Fleet::spawn(std::uint32_t worker) {
    clients::SpawnOptions spawn;
    spawn.arguments = {"worker",
                       "--control",
                       std::to_string(block_.descriptor()),
                       "--index",
                       std::to_string(worker),
                       "--coordinator",
                       std::to_string(getpid())};
    spawn.environment = worker_environment(plan_.threads);
    spawn.inherited = {block_.descriptor(), plan_.data_descriptor};
    if (plan_.arena_descriptor >= 0) spawn.inherited.push_back(plan_.arena_descriptor);
    if (!options_.logs.empty()) spawn.log = options_.logs / fmt::format("worker-{}.log", worker);
    workers_.emplace_back(spawn);
    watcher_.watch(worker, workers_.back().pidfd());
}

Fleet::~Fleet() {
    block_.shut_down();
    const std::int64_t patience_ends = now_ns() + 1'000'000'000;
    for (clients::ChildProcess& worker : workers_)
        if (!worker.wait_for(std::max(0.0, seconds_between(now_ns(), patience_ends)))) worker.kill();
}

ClientFailure Fleet::autopsy(std::size_t worker) {
    ClientFailure failure;
    failure.worker = static_cast<std::int64_t>(worker);
    const auto end = workers_[worker].end();
    failure.kind = end && end->signalled ? FailureKind::Signalled : FailureKind::Exited;
    failure.message = end ? end->text : "ended";
    return failure;
}

void Fleet::pull_down(const Cohort& cohort, const ServerState& server, const Strategy& strategy) {
    cohort_ = cohort;
    weights_.resize(cohort.size());
    tasks_.clear();
    for (std::size_t i = 0; i < cohort.size(); ++i) {
        weights_[i] = strategy.weight(num_examples(cohort[i]));
        block_.members()[i] = {cohort[i], weights_[i]};
    }
    for (std::uint64_t first = 0; first < cohort.size(); first += options_.clients_per_slot) {
        Task task;
        task.kind = TaskKind::Train;
        task.round = static_cast<std::uint32_t>(server.round);
        task.global_index = server.global_index;
        task.slot = static_cast<std::uint32_t>(tasks_.size());
        task.first = first;
        task.count = std::min<std::uint64_t>(options_.clients_per_slot, cohort.size() - first);
        task.objective = strategy.objective;
        tasks_.push_back(task);
    }
}

void Fleet::train() { barrier_.publish(tasks_); }

std::vector<TaskOutcome> Fleet::run_tasks(std::size_t quorum) {
    std::vector<TaskOutcome> outcomes =
        runner_ ? barrier_.run_here([this](std::size_t) { runner_->run_one(); }) : barrier_.wait(quorum);
    for (TaskOutcome& outcome : outcomes) {
        if (!outcome.failure) continue;
        if (runner_) outcome.failure->worker = -1;  // no process but this one
        throw RunAborted(*outcome.failure);
    }
    if (!barrier_.worker_failures().empty()) {
        ClientFailure failure = barrier_.worker_failures().front();
        failure.round = tasks_.empty() ? -1 : tasks_.front().round + std::int64_t{1};
        throw RunAborted(failure);
    }
    return outcomes;
}

Arrivals Fleet::barrier(std::size_t quorum) {
    const std::vector<TaskOutcome> outcomes = run_tasks(divide_up(quorum, options_.clients_per_slot));
    Arrivals arrived;
    for (std::size_t slot = 0; slot < tasks_.size(); ++slot) {
        const Task& task = tasks_[slot];
        std::vector<std::size_t> positions;
        for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
            const clients::ClientResult& result = block_.results()[i];
            if (result.finite == 0)
                throw RunAborted({FailureKind::NonFinite, runner_ ? -1 : std::int64_t{outcomes[slot].worker},
                                  task.round + std::int64_t{1}, cohort_[i],
                                  "the update holds a NaN or an infinity; a smaller training.optimizer.lr usually helps"});
            arrived.clients.push_back({cohort_[i], outcomes[slot].worker, task.slot, num_examples(cohort_[i]), result});
            positions.push_back(i);
        }
        const double weight = aggregation::sum_weights(positions, std::span(weights_).subspan(task.first, task.count));
        // A slot with several clients already holds the sum of its weighted updates.
        arrived.updates.push_back({arena_.slot(task.slot), slot, task.count == 1 ? weight : 1.0, weight, task.count});
        arrived.last_ns = std::max(arrived.last_ns, block_.task(slot).finished_ns);
    }
    return arrived;
}

std::vector<clients::EvaluationResult> Fleet::evaluate(const ServerState& server) {
    tasks_.clear();
    const std::uint64_t total = dataset_.map().num_test;
    for (std::uint64_t first = 0; first < total; first += options_.test_chunk) {
        Task task;
        task.kind = TaskKind::Evaluate;
        task.round = static_cast<std::uint32_t>(std::max<std::int64_t>(0, server.round));
        task.global_index = server.global_index;
        task.first = first;
        task.count = std::min(options_.test_chunk, total - first);
        tasks_.push_back(task);
    }
    train();
    run_tasks(tasks_.size());
    std::vector<clients::EvaluationResult> results;
    for (std::size_t i = 0; i < tasks_.size(); ++i) results.push_back(block_.task(i).evaluation);
    return results;
}

std::pair<std::size_t, std::size_t> Fleet::tasks_done() const {
    const clients::ControlBlock::Header& header = block_.header();
    return {header.finished.load(std::memory_order_relaxed), header.num_tasks.load(std::memory_order_relaxed)};
}

void Fleet::empty_round(std::size_t count) {
    tasks_.assign(count, Task{});
    train();
    run_tasks(count);
}

}  // namespace fedhive::sim
