#include "clients/worker/worker.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/host_arena.h"
#include "clients/protocol/process.h"
#include "clients/worker/own_processor.h"
#include "clients/worker/task_runner.h"

#include <malloc.h>

namespace fedhive::clients {

namespace {

std::unique_ptr<aggregation::Arena> open_arena(const WorkerPlan& plan) {
    if (plan.space == aggregation::MemorySpace::Host)
        return std::make_unique<aggregation::HostArenaView>(plan.arena_descriptor, plan.arena);
    return std::make_unique<aggregation::CudaArenaView>(aggregation::cuda_driver(), plan.arena_handle, plan.arena);
}

}  // namespace

int run_worker(int control_descriptor, std::uint32_t worker, int coordinator, TrainerFactory make_trainer) {
    follow_parent(coordinator);
    const ControlBlock block = ControlBlock::open(control_descriptor);
    WorkerCell& cell = block.worker(worker);
    try {
        const auto plan = block.plan<WorkerPlan>();
        if (plan.space == aggregation::MemorySpace::Host && plan.threads == 1)
            keep_to_own_processor(worker, block.geometry().num_workers);
        SharedDataset dataset = SharedDataset::open(plan.data_descriptor, plan.data);
        if (plan.space == aggregation::MemorySpace::Cuda) dataset.open_on_device(aggregation::cuda_driver(), plan.data_handle);
        const std::unique_ptr<aggregation::Arena> arena = open_arena(plan);
        const std::unique_ptr<Trainer> trainer = make_trainer(plan, dataset, arena->frozen());
        malloc_trim(0);  // of the model as it was first built, before its tensors became views of the flat one
        const auto stopping = [&] { return block.header().shutdown.load(std::memory_order_acquire) != 0; };
        TaskRunner runner(block, worker, *arena, dataset, plan, *trainer, stopping, true);
        while (!stopping()) {
            cell.state.store(WorkerState::Working, std::memory_order_release);
            while (!stopping() && runner.run_one()) {
            }
            cell.state.store(WorkerState::Waiting, std::memory_order_release);
            wait_for(cell.door_bell);
        }
        cell.state.store(WorkerState::Stopped, std::memory_order_release);
        return 0;
    } catch (const std::exception& error) {
        cell.error.set(error.what());
        cell.state.store(WorkerState::Broken, std::memory_order_release);
        return 1;
    }
}

}  // namespace fedhive::clients
