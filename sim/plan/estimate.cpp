#include "sim/plan/estimate.h"

#include "aggregation/base/clock.h"
#include "clients/tasks/measures.h"
#include "clients/trainers/engine.h"
#include "clients/visit/local_step.h"
#include "sim/config/load_config.h"
#include "sim/config/refused_runs.h"
#include "sim/plan/client_states_plan.h"
#include "sim/plan/experiment.h"
#include "sim/plan/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace fedhive::sim {

namespace {

constexpr double kTiming_s = 0.05;  // for local steps, and again for evaluation
constexpr double kStart_s = 0.6;    // to start a run's processes

/// The median time of `work`, without the first call.
double seconds_each(const std::function<void()>& work) {
    work();
    std::vector<double> times;
    for (const std::int64_t start_ns = now_ns(); times.size() < 3 || seconds_between(start_ns, now_ns()) < kTiming_s;) {
        const std::int64_t one_ns = now_ns();
        work();
        times.push_back(seconds_between(one_ns, now_ns()));
        if (times.size() >= 1000) break;
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

/// A client's first batch.
std::span<const std::uint32_t> first_batch(const Experiment& run, std::size_t client) {
    const std::span<const std::uint32_t> shard = run.data.dataset.shard(client);
    return shard.first(std::min(shard.size(), static_cast<std::size_t>(run.config.training.batch_size)));
}

/// A prepared local step of the first clients, as many as are trained at once.
struct FirstStep {
    FirstStep(const Experiment& run, clients::Trainer& trainer)
        : clients(std::min<std::size_t>(run.worker_plan.clients_at_once, static_cast<std::size_t>(run.config.cohort_size()))),
          step(clients > 1 ? trainer.step_at_once() : trainer.step(), run.worker_plan.clip_norm) {
        clients::ClientStart start;
        start.rows = clients;
        start.global = run.server.state.model();
        step.begin(start);
        for (std::size_t row = 0; row < clients; ++row) batches.push_back({first_batch(run, row)});
    }
    void take() { step.step_rows(batches); }

    std::size_t clients;
    clients::LocalStep step;
    std::vector<clients::RowBatch> batches;
};

/// Seconds of all evaluations on the clients' held-out examples.
double clients_evaluation_s(const Experiment& run, double one_step_s, double one_example_s) {
    const ClientsEvaluationConfig& config = run.config.evaluation.clients;
    double once = 0.0;
    for (const std::uint32_t client : run.evaluated_clients) {
        const auto steps = static_cast<double>(run.worker_plan.training.steps_of_epoch(run.data.dataset.shard(client).size()));
        const auto passes = config.personalized ? 2.0 : 1.0;
        once += passes * one_example_s * static_cast<double>(run.data.dataset.held_out(client).size());
        if (config.personalized) once += one_step_s * steps;
    }
    return once == 0.0 ? 0.0 : once * std::ceil(static_cast<double>(run.config.rounds) / static_cast<double>(*config.every));
}

/// Examples that one forward pass for these measures counts as: backward it takes twice as long.
double forward_passes(const clients::Reports& measures) {
    return (clients::measures_outputs(measures) ? 1.0 : 0.0) + (clients::place_of_gradient_norm(measures) ? 3.0 : 0.0);
}

/// Forward passes over an example in a round for what clients measure, those that train and those that a sampler asks first.
double measured_per_round(const Experiment& run) {
    double of_all = 0.0;
    const std::uint64_t num_clients = run.data.dataset.map().num_clients;
    for (std::size_t client = 0; client < num_clients; ++client)
        of_all += static_cast<double>(run.data.dataset.shard(client).size());
    const auto candidates = static_cast<double>(most_measured(run.config, num_clients));
    const auto trained = static_cast<double>(run.mode.late_join ? run.mode.quorum : run.mode.in_flight);
    const auto of_method = static_cast<double>(run.worker_plan.loss_passes + run.worker_plan.measure_passes);
    const double passes = candidates * forward_passes(run.worker_plan.of_candidates) +
                          trained * (forward_passes(run.worker_plan.reports) + of_method) +
                          (run.config.reads_cross_losses() ? trained * trained : 0.0);
    return passes * of_all / static_cast<double>(num_clients);
}

double core_seconds(const Experiment& run) {
    const auto trainer = clients::make_trainer(run.worker_plan, run.data.dataset, run.resources.arena->frozen());
    FirstStep step(run, *trainer);
    const double one_step = seconds_each([&] { step.take(); }) / static_cast<double>(step.clients);
    const aggregation::ConstParamSpan global = run.server.state.model();
    const std::uint64_t chunk =
        std::min(run.data.dataset.map().num_test, static_cast<std::uint64_t>(run.config.evaluation.chunk_size));
    const double one_chunk = seconds_each([&] {
        clients::EvaluationSums sums(run.worker_plan.sums);
        trainer->evaluation().evaluate_range(global, run.data.dataset.test(), 0, chunk, sums);
    });
    const auto rounds = static_cast<double>(run.config.rounds);
    const double one_example = one_chunk / static_cast<double>(chunk);
    return kStart_s + rounds * (steps_per_round(run) * one_step + measured_per_round(run) * one_example) +
           test_examples_of_all_rounds(run) * one_example + clients_evaluation_s(run, one_step, one_example);
}

RunEstimate make_real(LoadedConfig loaded) {
    loaded.run.device = Device::Cpu;
    const Experiment run = Experiment::to_inspect(loaded);
    const std::uint64_t workers = 1 + run.resources.num_workers;  // the coordinator holds LibTorch too
    const std::uint64_t kept = run.config.client_state == StateStore::File
                                   ? 0
                                   : client_state_bytes(run.config, run.model.memories, run.data.dataset.map().num_clients);
    return {run.resources.arena->geometry().total_bytes() + run.data.dataset.map().total_bytes() + kept +
                workers * host_bytes_of_worker(run),
            core_seconds(run)};
}

/// What mistakes that only data and model show depend on most.
std::string method_key(const RunConfig& run) {
    RunConfig checked;
    checked.strategy = run.strategy;
    checked.model = run.model;
    checked.task = run.task;
    checked.data = run.data;
    return to_yaml(checked);
}

RunEstimate mean_of(const std::map<std::string, RunEstimate>& known) {
    RunEstimate mean;
    for (const auto& [key, one] : known) {
        mean.host_bytes = std::max(mean.host_bytes, one.host_bytes);
        mean.core_seconds += one.core_seconds / static_cast<double>(known.size());
    }
    return mean;
}

}  // namespace

std::string cost_key(RunConfig run) {
    run.name.clear();
    run.seed = 1;
    run.seeds = {};
    run.workers = 1;
    run.mps = Mps::Off;
    run.faults.clear();
    for (const char* costs_nothing : {"lr", "weight_decay"}) run.training.optimizer.values.erase(costs_nothing);
    run.training.lr_schedule = {};
    if (!run.strategy.client_state() && !run.strategy.histories() && run.strategy.parts.method == nullptr) run.strategy = {};
    run.stop = {};
    return to_yaml(run);
}

double steps_per_round(const Experiment& run) {
    const clients::DatasetMap& data = run.data.dataset.map();
    const auto steps = [&](std::uint64_t examples) {
        return static_cast<double>(run.worker_plan.passes_of_a_step * run.worker_plan.training.steps_of(examples));
    };
    if (run.mode.pass == PassExamples::Share) return steps(data.num_train);  // all replicas share them
    const auto clients = static_cast<double>(run.mode.late_join ? run.mode.quorum : run.mode.in_flight);
    if (run.worker_plan.all_examples) return clients * steps(data.num_train);
    double of_all = 0.0;
    for (std::size_t client = 0; client < data.num_clients; ++client) of_all += steps(run.data.dataset.shard(client).size());
    const double of_root = run.server.strategy.root_client ? steps(data.num_root) : 0.0;
    return clients * of_all / static_cast<double>(data.num_clients) + of_root;
}

double test_examples_of_all_rounds(const Experiment& run) {
    if (!run.model.local_part.empty()) return 0.0;  // there is no global model to evaluate
    const auto every = static_cast<double>(run.config.evaluation.every);
    return std::ceil(static_cast<double>(run.config.rounds) / every) * static_cast<double>(run.data.dataset.map().num_tests());
}

StepTime time_of_step(const Experiment& run, double short_s) {
    const auto trainer = clients::make_trainer(run.worker_plan, run.data.dataset, run.resources.arena->frozen());
    FirstStep step(run, *trainer);
    const auto clients = static_cast<double>(step.clients);
    const std::int64_t start_ns = now_ns();
    step.take();
    const double first_s = seconds_between(start_ns, now_ns()) / clients;
    if (first_s < short_s) return {first_s, false};
    const std::int64_t timed_ns = now_ns();
    const std::clock_t cpu = std::clock();
    const double seconds = seconds_each([&] { step.take(); }) / clients;
    const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    return {seconds, cpu_s < 0.8 * seconds_between(timed_ns, now_ns())};
}

Estimates estimate(std::span<const LoadedConfig> configs, std::span<const std::string> ids) {
    Estimates estimates;
    std::map<std::string, RunEstimate> known;
    std::map<std::string, std::string> problems;  // of configs that are refused, by their cost key
    std::set<std::string> built;                  // method keys
    RefusedRuns refused;
    const std::int64_t start_ns = now_ns();
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const std::string key = cost_key(configs[i].run);
        const bool is_new = !known.contains(key) && !problems.contains(key);
        const bool is_new_method = built.insert(method_key(configs[i].run)).second;
        try {
            if (is_new && seconds_between(start_ns, now_ns()) < kEstimateBudget_s)
                known.emplace(key, make_real(configs[i]));
            else if (is_new && is_new_method)
                Experiment::to_inspect(configs[i]);
        } catch (const ConfigError& error) {
            if (ids.empty()) throw;
            problems.emplace(key, error.what());
        }
        if (const auto problem = problems.find(key); problem != problems.end()) refused.add(ids[i], problem->second);
        const auto found = known.find(key);
        estimates.runs.push_back(found == known.end() ? mean_of(known) : found->second);
    }
    if (!refused.none()) throw ConfigError(refused.text(configs.size()));
    estimates.tried = known.size();
    return estimates;
}

}  // namespace fedhive::sim
