// The worker processes, with their shared memory and barrier. With 0 workers, the coordinator runs tasks itself. board.h puts tasks on the board;
// recovery.h decides about failures.
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
    /// Starts the workers; they get ready while the caller goes on. Plan, arena and data set must outlive this. `answer_s`: as
    /// in clients::RoundBarrier. Throws as Fleet.
    Workforce(const FleetOptions& options, const clients::ControlGeometry& geometry, const clients::WorkerPlan& plan,
              const aggregation::Arena& arena, const clients::SharedDataset& dataset, clients::TrainerFactory make_trainer,
              double answer_s);

    const clients::ControlBlock& block() const { return block_; }
    clients::RoundBarrier& barrier() { return barrier_; }

    /// Whether there are no workers, so that tasks run in this process.
    bool is_coordinator() const { return runner_ != nullptr; }
    std::size_t num_active() const { return active_.size(); }
    bool is_active(std::size_t worker) const;

    /// Waits as clients::RoundBarrier does; with 0 workers, runs the tasks meanwhile.
    std::vector<clients::FoundFailure> wait(std::span<const std::size_t> cells, std::size_t quorum, double grace_s);

    /// Starts a new process in place of a lost one.
    void replace(std::size_t worker);

    /// Ends all workers that are not lost yet; returns the cells of the tasks they had claimed.
    std::vector<std::size_t> recall_all();
    /// Starts new processes in place of all workers, with `environment`.
    void replace_all(std::vector<std::pair<std::string, std::string>> environment);

    /// Ends half of the workers for good; returns the cells of the tasks that they had claimed. Needs at least two workers.
    std::vector<std::size_t> send_half_away();

    bool interrupted() const { return watcher_.interrupt() != 0; }
    /// Throws Interrupted after a signal.
    void throw_if_interrupted() const;

    /// Number of workers that have a task now, and of all remaining workers; from any thread. Cost: reads every cell of the board.
    std::pair<std::size_t, std::size_t> busy() const;

private:
    clients::ControlBlock block_;
    clients::Watcher watcher_;
    std::unique_ptr<WorkerPool> pool_;
    clients::RoundBarrier barrier_;
    std::unique_ptr<clients::Trainer> trainer_;    // workers: 0
    std::unique_ptr<clients::TaskRunner> runner_;  // workers: 0
    std::vector<std::size_t> active_;              // indices of the workers that were not sent away
    std::atomic<std::size_t> num_active_{0};       // size of active_, for other threads
};

}  // namespace fedhive::sim
