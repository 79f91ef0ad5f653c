// The worker processes: starts, checks, kills, replaces and ends them. Their tasks are the fleet's concern.
#pragma once

#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/process.h"
#include "clients/protocol/watcher.h"
#include "clients/trainers/worker_plan.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// How long a worker may take to end. The driver first destroys its GPU context, which takes seconds, more with many workers.
struct WorkerPatience {
    double leave_s = 1.0;  // after it was asked to
    double die_s = 5.0;    // after SIGKILL
};
WorkerPatience worker_patience(aggregation::MemorySpace space);

class WorkerPool {
public:
    /// Starts `count` workers; they get ready while the caller goes on. `logs`: folder for worker-N.log; empty: no logs.
    /// `environment`: added to this process's own. Throws Fault if a process cannot be started, Interrupted after a signal; no
    /// worker is left then. The block and the watcher must outlive the pool.
    WorkerPool(std::uint32_t count, const clients::ControlBlock& block, clients::Watcher& watcher,
               const clients::WorkerPlan& plan, std::filesystem::path logs,
               std::vector<std::pair<std::string, std::string>> environment);

    /// Stops the workers: asks first, then kills those that have not stopped in time (at once after a second interrupt). Leaves
    /// no process behind.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Why a dead worker ended: exited, signalled, or out_of_memory if the kernel killed processes for lack of memory.
    clients::ClientFailure how_ended(std::size_t worker);

    /// Kills the worker; returns when it is dead. Throws Fault if it cannot be killed (a driver that does not release it).
    void kill(std::size_t worker);

    /// Starts a new process in place of a dead one.
    void replace(std::size_t worker);

    /// Sets the environment of processes started from now on.
    void set_environment(std::vector<std::pair<std::string, std::string>> environment) {
        environment_ = std::move(environment);
    }

private:
    void spawn(std::uint32_t worker);
    void kill_all();

    const clients::ControlBlock& block_;
    clients::Watcher& watcher_;
    clients::WorkerPlan plan_;
    std::filesystem::path logs_;
    std::vector<std::pair<std::string, std::string>> environment_;
    std::uint64_t oom_kills_;  // the kernel's count at the last look
    std::vector<std::unique_ptr<clients::ChildProcess>> processes_;
};

}  // namespace fedhive::sim
