#include "sim/fleet.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/math/mean.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

namespace fedhive::sim {

using clients::Task;
using clients::TaskKind;

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

}  // namespace

std::size_t Arrivals::accepted() const {
    return static_cast<std::size_t>(
        std::count_if(clients.begin(), clients.end(), [](const ClientReport& client) { return !client.failure; }));
}

std::optional<double> Arrivals::train_loss() const {
    double sum = 0.0;
    double examples = 0.0;
    for (const ClientReport& client : clients) {
        if (client.failure) continue;
        sum += client.result.train_loss * static_cast<double>(client.num_examples);
        examples += static_cast<double>(client.num_examples);
    }
    return examples > 0.0 ? std::optional(sum / examples) : std::nullopt;
}

Fleet::Fleet(const FleetOptions& options, const clients::WorkerPlan& plan, const aggregation::Arena& arena,
             const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer)
    : options_(options),
      arena_(arena),
      dataset_(dataset),
      plan_(plan),
      deadlines_(options.failures.deadline_s),
      block_(clients::ControlBlock::create(control_geometry(options, dataset.map()))),
      watcher_([this] { block_.header().coordinator_bell.post(); }, [] { _exit(130); }),
      barrier_(block_, watcher_, deadlines_.of_answer(),
               {[this](std::size_t worker) { return pool_->autopsy(worker); },
                [this](std::size_t worker) { pool_->kill(worker); }}) {
    block_.set_plan(plan_);
    if (options_.workers == 0) {
        trainer_ = make_trainer(plan_, dataset_);
        runner_ = std::make_unique<clients::TaskRunner>(
            block_, 0, arena_, dataset_, plan_.training, trainer_->step(), trainer_->evaluation(),
            [this] { return watcher_.interrupt() != 0; }, false);
        return;
    }
    pool_ = std::make_unique<WorkerPool>(options_.workers, block_, watcher_, plan_, options_.logs);
    active_.resize(options_.workers);
    std::iota(active_.begin(), active_.end(), std::size_t{0});
}

Fleet::~Fleet() = default;

void Fleet::pull_down(const Cohort& cohort, const ServerState& server, const Strategy& strategy) {
    cohort_ = cohort;
    weights_.resize(cohort.size());
    attempts_.assign(cohort.size(), {});
    done_ = 0;
    const auto round = static_cast<std::uint32_t>(server.round);
    for (std::size_t i = 0; i < cohort.size(); ++i) {
        weights_[i] = strategy.weight(num_examples(cohort[i]));
        block_.members()[i] = {.client_id = cohort[i], .weight = weights_[i], .fault = {}};
        take_part(i, round);
    }
    tasks_.clear();
    for (std::uint64_t first = 0; first < cohort.size(); first += options_.clients_per_slot) {
        Task task;
        task.kind = TaskKind::Train;
        task.round = round;
        task.global_index = server.global_index;
        task.slot = static_cast<std::uint32_t>(tasks_.size());
        task.first = first;
        task.count = std::min<std::uint64_t>(options_.clients_per_slot, cohort.size() - first);
        task.objective = strategy.objective;
        tasks_.push_back(task);
    }
}

void Fleet::train() {
    std::vector<Task> published = tasks_;
    for (Task& task : published) {
        if (!wanted(task)) task.kind = TaskKind::Nobodys;
        task.deadline_s = deadline_of(task);
    }
    barrier_.publish(published);
}

bool Fleet::wanted(const Task& task) const {
    if (task.kind != TaskKind::Train) return true;
    const auto members = std::span(attempts_).subspan(task.first, task.count);
    return std::any_of(members.begin(), members.end(), [](const Attempts& member) { return !member.dropped; });
}

double Fleet::deadline_of(const Task& task) const {
    if (task.kind != TaskKind::Train) return deadlines_.of_chunk();
    double seconds = 0.0;
    for (std::uint64_t i = task.first; i < task.first + task.count; ++i)
        seconds = std::max(seconds, deadlines_.of_client(plan_.training.steps_of(num_examples(cohort_[i]))));
    return seconds;
}

void Fleet::settle(std::size_t quorum, double grace_s) {
    for (;;) {
        const auto num_wanted = static_cast<std::size_t>(
            std::count_if(tasks_.begin(), tasks_.end(), [this](const Task& task) { return wanted(task); }));
        const std::vector<clients::FoundFailure> found = runner_
                                                             ? barrier_.run_here([this] { return runner_->run_one(); }, grace_s)
                                                             : barrier_.wait(std::min(quorum, num_wanted), grace_s);
        count_progress();
        if (found.empty()) return;
        for (const clients::FoundFailure& one : found) resolve(one);
    }
}

Arrivals Fleet::barrier(std::size_t quorum) {
    settle(divide_up(quorum, options_.clients_per_slot), 0.0);
    Arrivals arrived;
    for (std::size_t slot = 0; slot < tasks_.size(); ++slot) {
        const Task& task = tasks_[slot];
        const std::uint32_t worker = barrier_.worker_of(slot);
        std::vector<std::size_t> positions;
        std::vector<double> weights;
        for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
            const bool accepted = !attempts_[i].dropped;
            const clients::ClientResult& result = block_.results()[i];
            arrived.clients.push_back({cohort_[i], accepted ? worker : attempts_[i].worker, task.slot, num_examples(cohort_[i]),
                                       accepted ? result : clients::ClientResult{}, attempts_[i].dropped});
            if (!accepted) continue;
            deadlines_.learn(result);
            positions.push_back(i);
            weights.push_back(weights_[i]);
        }
        if (positions.empty()) continue;
        const double weight = aggregation::sum_weights(positions, weights);
        // A slot with several clients already holds the sum of its weighted updates.
        arrived.updates.push_back({arena_.slot(task.slot), slot, task.count == 1 ? weight : 1.0, weight, positions.size()});
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
    attempts_.assign(tasks_.size(), {});
    train();
    try {
        settle(tasks_.size(), kGrace);
    } catch (const clients::Interrupted& interrupted) {
        throw clients::Interrupted(interrupted.signal_number, false);
    }
    std::vector<clients::EvaluationResult> results;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const clients::TaskCell& cell = block_.task(i);
        deadlines_.learn_chunk(seconds_between(cell.started_ns.load(std::memory_order_relaxed), cell.finished_ns));
        results.push_back(cell.evaluation);
    }
    return results;
}

void Fleet::throw_if_interrupted() const {
    if (watcher_.interrupt() != 0) throw clients::Interrupted(watcher_.interrupt());
}

std::pair<std::size_t, std::size_t> Fleet::tasks_done() const {
    const clients::ControlBlock::Header& header = block_.header();
    return {header.finished.load(std::memory_order_relaxed), header.num_tasks.load(std::memory_order_relaxed)};
}

void Fleet::empty_round(std::size_t count) {
    tasks_.assign(count, Task{});
    attempts_.assign(count, {});
    train();
    settle(count, 0.0);
}

}  // namespace fedhive::sim
