// Claims, runs and reports tasks. The same code runs in a worker process and in the coordinator (`workers: 0`). Each kind of task has a file of
// its own.
#pragma once

#include "clients/protocol/round_barrier.h"
#include "clients/worker/aggregate_task.h"
#include "clients/worker/evaluation_tasks.h"
#include "clients/worker/gradient_task.h"
#include "clients/worker/group_tasks.h"
#include "clients/worker/train_task.h"
#include "clients/worker/worker_context.h"

#include <functional>

namespace fedhive::clients {

class TaskRunner {
public:
    /// All references must outlive the runner. `stopping` and `own_process` are Supervision's; `wait_for_device` returns
    /// when all enqueued work is done, by default on the arena's device.
    TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena, const SharedDataset& dataset,
               const WorkerPlan& plan, Trainer& trainer, std::function<bool()> stopping, bool own_process,
               std::function<void()> wait_for_device = {});

    /// Claims and runs one task; false if there was none. An exception of the task is reported in its cell, never passed on.
    bool run_one();

private:
    TaskPhase unfinished(TaskCell& cell) const;
    bool withdrawn() const;
    void run(TaskCell& cell);

    const ControlBlock& block_;
    TaskBoard board_;
    const TaskCell* at_work_ = nullptr;
    std::function<void()> wait_for_device_;
    WorkerContext worker_;
    TrainTask train_;
    GradientTask gradient_;
    ReplicaTask replica_;
    EvaluationTasks evaluation_;
    AggregateTask aggregate_;
};

}  // namespace fedhive::clients
