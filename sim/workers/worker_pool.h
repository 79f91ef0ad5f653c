// The worker processes: started, found dead, killed, replaced, ended. What they are asked to do is the fleet's business.
#pragma once

#include "clients/protocol/control_block.h"
#include "clients/protocol/failure.h"
#include "clients/protocol/process.h"
#include "clients/protocol/watcher.h"
#include "clients/training/worker_plan.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// How long a worker may take to end. The driver unwinds a context on the GPU first, which takes seconds, more where there are many.
struct WorkerPatience {
    double leave_s = 1.0;  // after it was asked to
    double die_s = 5.0;    // after SIGKILL
};
WorkerPatience worker_patience(aggregation::MemorySpace space);

class WorkerPool {
public:
    /// Starts `count` workers; they get ready while the caller goes on. `logs`: folder for worker-N.log; empty: none are kept.
    /// `environment`: set in each on top of this process's own. Throws Fault when a process cannot be started, Interrupted after a signal;
    /// none is left then. The block and the watcher must outlive the pool.
    WorkerPool(std::uint32_t count, const clients::ControlBlock& block, clients::Watcher& watcher,
               const clients::WorkerPlan& plan, std::filesystem::path logs,
               std::vector<std::pair<std::string, std::string>> environment);

    /// Stops the workers: asks first, kills what has not stopped in time (at once after a second interrupt). Nothing is left behind.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// How a dead worker has ended: exited, signalled, or out_of_memory where the kernel killed processes for want of memory.
    clients::ClientFailure autopsy(std::size_t worker);

    /// Returns when the process is dead. Throws Fault when it cannot be killed (a driver that does not let go).
    void kill(std::size_t worker);

    /// A new process in a dead one's place.
    void replace(std::size_t worker);

    /// Of the processes that are started from now on.
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
    std::uint64_t oom_kills_;  // by the kernel, when last looked
    std::vector<std::unique_ptr<clients::ChildProcess>> processes_;
};

}  // namespace fedhive::sim
