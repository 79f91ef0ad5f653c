#include "sim/workers/worker_pool.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "sim/machine/machine.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace fedhive::sim {

using clients::ClientFailure;
using clients::FailureKind;

namespace {

/// Thread limits for every library, so that none uses more threads than the experiment sets.
std::vector<std::pair<std::string, std::string>> worker_environment(int threads) {
    const std::string count = std::to_string(threads);
    return {{"OMP_NUM_THREADS", count},
            {"MKL_NUM_THREADS", count},
            {"OPENBLAS_NUM_THREADS", count},
            {"CUDA_MODULE_LOADING", "LAZY"}};
}

}  // namespace

WorkerPatience worker_patience(aggregation::MemorySpace space) {
    return space == aggregation::MemorySpace::Cuda ? WorkerPatience{5.0, 15.0} : WorkerPatience{};
}

WorkerPool::WorkerPool(std::uint32_t count, const clients::ControlBlock& block, clients::Watcher& watcher,
                       const clients::WorkerPlan& plan, std::filesystem::path logs,
                       std::vector<std::pair<std::string, std::string>> environment)
    : block_(block),
      watcher_(watcher),
      plan_(plan),
      logs_(std::move(logs)),
      environment_(std::move(environment)),
      oom_kills_(num_oom_kills()),
      processes_(count) {
    for (std::uint32_t worker = 0; worker < count; ++worker) {
        // Checked before each start: with many workers, those that are starting already slow this loop down.
        if (const int signal = watcher_.interrupt(); signal != 0) {
            kill_all();
            throw clients::Interrupted(signal);
        }
        spawn(worker);
    }
}

WorkerPool::~WorkerPool() {
    block_.shut_down();
    const double patience_s = watcher_.interrupts() > 1 ? 0.0 : worker_patience(plan_.space).leave_s;
    const std::int64_t patience_ends = now_ns() + static_cast<std::int64_t>(patience_s * 1e9);
    for (std::size_t worker = 0; worker < processes_.size(); ++worker) {
        const auto& process = processes_[worker];
        // After an interrupt, do not wait for a worker that is still starting: it would not react before it is ready.
        const bool starting = watcher_.interrupts() > 0 &&
                              block_.worker(worker).state.load(std::memory_order_relaxed) == clients::WorkerState::Starting;
        if (process && (starting || !process->wait_for(std::max(0.0, seconds_between(now_ns(), patience_ends)))))
            process->kill();
    }
}

/// Kills all before waiting for any.
void WorkerPool::kill_all() {
    for (const auto& process : processes_)
        if (process) process->kill();
}

void WorkerPool::spawn(std::uint32_t worker) {
    clients::SpawnOptions spawn;
    spawn.arguments = {"worker",
                       "--control",
                       std::to_string(block_.descriptor()),
                       "--index",
                       std::to_string(worker),
                       "--coordinator",
                       std::to_string(getpid())};
    spawn.environment = worker_environment(plan_.threads);
    spawn.environment.insert(spawn.environment.end(), environment_.begin(), environment_.end());
    spawn.inherited = {block_.descriptor(), plan_.data_descriptor};
    for (const int shared :
         {plan_.arena_descriptor, plan_.states_descriptor, plan_.model.exported.descriptor, plan_.visit.descriptor})
        if (shared >= 0) spawn.inherited.push_back(shared);
    if (!logs_.empty()) spawn.log = logs_ / fmt::format("worker-{}.log", worker);
    processes_[worker] = std::make_unique<clients::ChildProcess>(spawn);
    watcher_.watch(worker, processes_[worker]->pidfd());
}

ClientFailure WorkerPool::how_ended(std::size_t worker) {
    ClientFailure failure;
    failure.worker = static_cast<std::int64_t>(worker);
    const auto end = processes_[worker]->end();
    failure.kind = end && end->signalled ? FailureKind::Signalled : FailureKind::Exited;
    failure.message = end ? end->text : "ended";
    const std::uint64_t oom_kills = num_oom_kills();
    if (failure.kind == FailureKind::Signalled && oom_kills > std::exchange(oom_kills_, oom_kills)) {
        failure.kind = FailureKind::OutOfMemory;
        failure.message += ", while the kernel was killing processes for want of memory";
    }
    return failure;
}

void WorkerPool::kill(std::size_t worker) {
    clients::ChildProcess& process = *processes_[worker];
    process.kill();
    const double patience_s = worker_patience(plan_.space).die_s;
    if (!process.wait_for(patience_s))
        throw Fault(
            fmt::format("worker {} (process {}) did not end within {} s after SIGKILL; its driver or file system may be stuck",
                        worker, process.pid(), patience_s));
    watcher_.forget(worker);
}

void WorkerPool::replace(std::size_t worker) {
    watcher_.forget(worker);
    processes_[worker].reset();
    block_.renew_worker(worker);
    spawn(static_cast<std::uint32_t>(worker));
}

}  // namespace fedhive::sim
