#include "sim/plan/worker_probe.h"

#include "aggregation/base/clock.h"
#include "aggregation/memory/cuda_arena.h"
#include "clients/trainers/libtorch_info.h"
#include "sim/fleet/fleet.h"
#include "sim/machine/machine.h"
#include "sim/plan/choice_cache.h"
#include "sim/plan/memory_plan.h"
#include "sim/version.h"
#include "sim/workers/mps.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace fedhive::sim {

namespace {

constexpr double kTask_s = 0.03;  // s of one worker, long compared with the hand-over
constexpr std::uint64_t kMostClients = 256;
constexpr double kDeadline_s = 30.0;
constexpr double kEnd_s = 0.2;  // s to end a race's processes

/// A worker's task: the same client `clients` times, `steps_each` local steps each.
struct RaceTask {
    std::uint64_t clients = 1;
    std::uint64_t steps_each = 1;
    std::uint64_t steps() const { return clients * steps_each; }
};

RaceTask task_of(const Experiment& run, double step_s) {
    const std::uint64_t examples = run.data.dataset.shard(largest_client(run.data.dataset)).size();
    const auto wanted = static_cast<std::uint64_t>(std::clamp(kTask_s / std::max(step_s, 1e-9), 1.0, 1e6));
    RaceTask task;
    task.steps_each = std::min(wanted, run.worker_plan.training.steps_of(examples));
    task.clients = std::max(run.resources.slots.least,
                            std::bit_floor(std::clamp<std::uint64_t>(wanted / task.steps_each, 1, kMostClients)));
    return task;
}

FleetOptions race_options(const Experiment& run, std::uint32_t workers, const RaceTask& task) {
    FleetOptions options = run.fleet_options();
    options.workers = workers;
    options.ranks = &Ranks::alone();  // each rank measures for itself
    options.slots = SlotPlan::even(task.clients);
    options.mode = {};
    options.mode.in_flight = options.mode.quorum = workers * task.clients;
    options.round_trip_s = {};
    options.recorded_arrivals.clear();
    options.failures = {};
    options.failures.deadline_s = kDeadline_s;
    options.faults = {};
    return options;
}

/// False if the machine decides the order of arrivals, or if workers work together: then their number changes more than speed.
bool only_time_depends(const Experiment& run) {
    return run.mode.trains_alone() && (run.config.clock == Clock::Virtual || !run.mode.late_join);
}

bool on_gpu(const Experiment& run) { return run.resources.space == aggregation::MemorySpace::Cuda; }

/// The MPS settings to race: without, with, or both.
std::vector<bool> mps_candidates(const Experiment& run) {
    if (run.config.mps == Mps::On) return {true};
    if (run.config.mps == Mps::Off || run.resources.most_workers < 2 || !why_no_mps(on_gpu(run)).empty()) return {false};
    if (run.ranks.on_device_of(run.ranks.rank()) > 1) return {false};  // each rank would start its own daemon
    return {false, true};
}

std::vector<std::uint32_t> candidates_of(const Experiment& run, bool mps) {
    if (!on_gpu(run)) return candidates_on_cores(run.resources.most_workers);
    return candidates_on_device(mps ? std::min(run.resources.most_workers, kMostMpsWorkers) : run.resources.most_workers);
}

/// True if an earlier choice is possible now.
bool allowed(const WorkerChoice& choice, const Experiment& run) {
    const std::vector<bool> mps = mps_candidates(run);
    return choice.workers >= 1 && choice.workers <= run.resources.most_workers &&
           std::find(mps.begin(), mps.end(), choice.mps) != mps.end();
}

struct Budget {
    double step_s = 0.0;
    double probe_s = 0.0;
    bool disturbed = false;
};

Budget budget_for(const Experiment& run, std::int64_t rounds_left, const ProbeMethods& methods) {
    const double steps =
        static_cast<double>(rounds_left) * steps_per_round(run) / static_cast<double>(run.resources.num_workers);
    if (steps < 1.0) return {};
    const double shortest_s = kLeastProbe_s / kShareOfRun;
    const StepTime step =
        on_gpu(run) ? StepTime{run.resources.rehearsed_step_s, false} : methods.time_step(run, shortest_s / steps);
    return {step.seconds, probe_budget_s(steps * step.seconds), step.disturbed};
}

/// Races with and without MPS, as far as the config leaves it open.
std::vector<Throughput> race_all(const Experiment& run, const Budget& budget, const ProbeMethods& methods) {
    std::vector<Throughput> measured;
    const std::vector<bool> races = mps_candidates(run);
    for (const bool mps : races) {
        const std::vector<std::uint32_t> candidates = candidates_of(run, mps);
        try {
            const auto some =
                methods.race(run, candidates, budget.step_s, budget.probe_s / static_cast<double>(races.size()), mps);
            measured.insert(measured.end(), some.begin(), some.end());
        } catch (const RunAborted&) {
            // A client that fails here fails in the run, too, which reports it.
        } catch (const MpsFault&) {
            if (run.config.mps == Mps::On) throw;
        }
    }
    return measured;
}

}  // namespace

std::vector<Throughput> race_workers(const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s,
                                     double budget_s, bool mps) {
    const RaceTask task = task_of(run, step_s);
    clients::WorkerPlan plan = run.worker_plan;
    plan.training.local_steps = task.steps_each;
    plan.training.max_update_norm = 0.0;
    Strategy strategy = make_strategy("fedavg", Weighting::Uniform);
    ServerState server(*run.resources.arena);
    const std::uint32_t client = largest_client(run.data.dataset);
    std::int64_t start_ns = now_ns();
    std::optional<MpsDaemon> daemon;
    FleetOptions options = race_options(run, candidates.front(), task);
    if (mps) options.worker_environment = daemon.emplace().environment();
    Fleet fleet(options, plan, *run.resources.arena, run.data.dataset);
    // One slot per worker. All workers exist and only some get tasks, so that all candidates race in the same fleet.
    const auto try_one = [&](std::uint32_t workers) {
        const std::int64_t turn_ns = now_ns();
        fleet.pull_down(Cohort(workers * task.clients, client), server, strategy);
        fleet.train();
        const Arrivals arrived = fleet.barrier(server);
        const double steps_per_s = static_cast<double>(workers * task.steps()) / seconds_between(turn_ns, now_ns());
        fleet.release(arrived, server);
        return steps_per_s;
    };
    try_one(candidates.front());  // until all workers have started
    // Starting a process with a GPU context takes seconds, which do not count.
    if (on_gpu(run)) start_ns = now_ns();
    std::vector<Throughput> measured = measure_in_turns(
        candidates, try_one, [&] { return seconds_between(start_ns, now_ns()); }, budget_s);
    for (Throughput& one : measured) one.mps = mps;
    return measured;
}

std::string race_key(const Experiment& run) {
    RunConfig config = run.config;
    config.rounds = 1;
    config.evaluation = {};
    config.checkpoint = {};
    config.failures = {};
    const Machine machine = this_machine();
    const clients::LibtorchInfo torch = clients::libtorch_info();
    return fmt::format("fedhive {} {}\nlibtorch {} {}\ncpu {}\ncores {}\nmemory {}\ncuda {}\nworkers {}\nmps {} {}\n{}",
                       kVersion, kCommit, torch.version, torch.cpu_capability, machine.cpu, machine.cores, machine.memory,
                       aggregation::cuda_versions().describe(), run.resources.most_workers, word_of(run.config.mps),
                       why_no_mps(on_gpu(run)), cost_key(config));
}

WorkerChoice choose_workers(const Experiment& run, std::int64_t rounds_left, const std::optional<WorkerChoice>& before,
                            const ProbeMethods& methods) {
    WorkerChoice choice;
    choice.workers = run.resources.num_workers;
    choice.mps = run.config.mps == Mps::On && run.resources.num_workers > 0;
    if (run.config.workers) choice.by = ChosenBy::Config;
    if (choice.mps) choice.workers = std::min(choice.workers, kMostMpsWorkers);
    if (run.config.workers || !only_time_depends(run)) return choice;
    if (before && allowed(*before, run)) {
        choice = *before;
        choice.by = ChosenBy::Before;
        choice.cost_s = 0.0;
        return choice;
    }
    const ChoiceCache cache(race_key(run));
    if (const auto known = cache.read(); known && allowed(*known, run)) return *known;
    const std::int64_t start_ns = now_ns();
    Budget budget = run.resources.most_workers > 1 ? budget_for(run, rounds_left, methods) : Budget{};
    if (budget.probe_s == 0.0) return choice;
    budget.probe_s -= seconds_between(start_ns, now_ns()) + kEnd_s;
    choice.measured = race_all(run, budget, methods);
    choice.cost_s = seconds_between(start_ns, now_ns());
    if (choice.measured.empty()) return choice;
    const Throughput best = fewest_of_the_fastest(choice.measured);
    choice.by = ChosenBy::Probe;
    choice.workers = best.workers;
    choice.mps = best.mps;
    choice.disturbed = budget.disturbed;
    if (!choice.disturbed) cache.write(choice);
    return choice;
}

}  // namespace fedhive::sim
