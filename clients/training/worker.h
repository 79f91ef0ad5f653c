// A worker process: maps what it inherited, builds its model, then runs tasks until it is told to stop.
#pragma once

#include "clients/protocol/control_block.h"
#include "clients/training/task_runner.h"
#include "clients/training/trainer.h"
#include "clients/training/worker_plan.h"

#include <memory>

namespace fedhive::clients {

/// By LibTorch. Throws Fault when the model's layout is not the coordinator's.
std::unique_ptr<Trainer> make_libtorch_trainer(const WorkerPlan& plan, const SharedDataset& dataset);

/// The body of `fedhive worker`; returns the exit code. Inherits the control block's descriptor; `coordinator` is the parent's process id.
int run_worker(int control_descriptor, std::uint32_t worker, int coordinator,
               TrainerFactory make_trainer = make_libtorch_trainer);

}  // namespace fedhive::clients
