// The worker processes of a Fleet, with their shared memory and barrier. With 0 workers, the coordinator runs tasks itself. board.h hands out tasks
// through the cells of the control block; recovery.h decides about failures.
#pragma once

#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/round_barrier.h"
#include "clients/protocol/watcher.h"
#include "clients/trainers/engine.h"
#include "clients/worker/task_runner.h"
#include "sim/fleet/fleet_options.h"
#include "sim/workers/worker_pool.h"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fedhive::sim {

class Workforce {
public:
    /// Starts the workers without waiting until they are ready. Plan, arena and data set must outlive this. `answer_s`: seconds that a worker may
    /// take to answer (clients::RoundBarrier). Throws what Fleet's constructor throws.
    Workforce(const FleetOptions& options, const clients::ControlGeometry& geometry, const clients::WorkerPlan& plan,
              const aggregation::Arena& arena, const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer,
              double answer_s);

    const clients::ControlBlock& block() const { return block_; }
    clients::RoundBarrier& barrier() { return barrier_; }

    /// Whether there are no workers, so that tasks run in this process.
    bool is_coordinator() const { return runner_ != nullptr; }
    /// Active: not ended by end_half().
    std::size_t num_active() const { return active_.size(); }
    bool is_active(std::size_t worker) const;

    /// Waits until `quorum` of the cells' tasks are done, then `grace_s` seconds for the others (clients::RoundBarrier::wait); with 0 workers, runs them
    /// itself. Returns the failures.
    std::vector<clients::FoundFailure> wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s);

    /// Starts a new process in place of a lost one.
    void replace(std::size_t worker);

    /// Ends all workers that are still alive; returns the cells of the tasks that they had claimed.
    std::vector<std::size_t> end_all();
    /// Replaces all workers by new processes with these environment variables.
    void replace_all(std::vector<std::pair<std::string, std::string>> environment);

    /// Ends half of the workers for good; returns the cells of the tasks that they had claimed. Needs at least two workers.
    std::vector<std::size_t> end_half();

    bool interrupted() const { return watcher_.interrupt() != 0; }
    /// Throws Interrupted after a signal.
    void throw_if_interrupted() const;

    /// Number of workers that have a task now, and of all active workers. Any thread may call it. Cost: reads every cell.
    std::pair<std::size_t, std::size_t> busy() const;

private:
    clients::ControlBlock block_;
    clients::Watcher watcher_;
    std::unique_ptr<WorkerPool> pool_;
    clients::RoundBarrier barrier_;
    std::unique_ptr<clients::Trainer> trainer_;    // only with 0 workers
    std::unique_ptr<clients::TaskRunner> runner_;  // only with 0 workers
    std::vector<std::size_t> active_;              // indices of the workers that end_half() has not ended
    std::atomic<std::size_t> num_active_{0};       // size of active_, for other threads
};

}  // namespace fedhive::sim
