// Runs claimed tasks: the part of a worker that is the same inside a worker process and inside the coordinator (`workers: 0`).
#pragma once

#include "aggregation/math/mean.h"
#include "aggregation/memory/arena.h"
#include "clients/data/shared_dataset.h"
#include "clients/protocol/control_block.h"
#include "clients/protocol/round_barrier.h"
#include "clients/training/local_training.h"
#include "clients/training/supervised_step.h"
#include "clients/training/training_step.h"

#include <memory>

namespace fedhive::clients {

class TaskRunner {
public:
    /// All references must outlive the runner. `stopping` and `own_process` are SupervisedStep's.
    TaskRunner(const ControlBlock& block, std::uint32_t worker, const aggregation::Arena& arena, const SharedDataset& dataset,
               const LocalTraining& plan, TrainingStep& step, Evaluation& evaluation, std::function<bool()> stopping,
               bool own_process);

    /// Claims and runs one task. False when there was none. What a task throws is reported in its cell, never passed on.
    bool run_one();

private:
    void run(TaskCell& cell);
    void train(TaskCell& cell);
    void train_member(const Task& task, std::uint64_t member, aggregation::ParamSpan update);
    void evaluate(TaskCell& cell);

    const ControlBlock& block_;
    TaskBoard board_;
    const aggregation::Arena& arena_;
    const SharedDataset& dataset_;
    const LocalTraining& plan_;
    SupervisedStep step_;
    Evaluation& evaluation_;
    aggregation::SlotSum slot_sum_;
    aggregation::ParamBuffer update_;  // one client's update, where a slot holds several
};

}  // namespace fedhive::clients
