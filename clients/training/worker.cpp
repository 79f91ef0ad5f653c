#include "clients/training/worker.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/host_arena.h"
#include "clients/protocol/process.h"
#include "clients/training/graph_batched_step.h"
#include "clients/training/graph_step.h"
#include "clients/training/libtorch_batched_step.h"
#include "clients/training/libtorch_step.h"
#include "clients/training/split_step.h"

#include <malloc.h>

#include <algorithm>

namespace fedhive::clients {

NormalizationPlan NormalizationPlan::of(const Normalization& normalization) {
    if (std::max(normalization.mean.size(), normalization.std.size()) > kMaxChannels)
        throw ConfigError(fmt::format("normalisation of more than {} channels", kMaxChannels));
    NormalizationPlan plan;
    std::copy(normalization.mean.begin(), normalization.mean.end(), plan.mean.begin());
    std::copy(normalization.std.begin(), normalization.std.end(), plan.std.begin());
    plan.num_means = static_cast<std::uint32_t>(normalization.mean.size());
    plan.num_stds = static_cast<std::uint32_t>(normalization.std.size());
    return plan;
}

Normalization NormalizationPlan::get() const {
    return {{mean.begin(), mean.begin() + num_means}, {std.begin(), std.begin() + num_stds}};
}

namespace {

class LibtorchTrainer final : public Trainer {
public:
    LibtorchTrainer(const WorkerPlan& plan, const SharedDataset& dataset)
        : plan_(plan),
          dataset_(dataset),
          model_(plan.model, plan.space),
          step_(model_, dataset.train(plan.space), plan.normalization.get(), plan.optimizer, plan.precision),
          evaluation_(model_, dataset.test(plan.space), plan.normalization.get()) {
        if (model_.layout().fingerprint() != plan.layout_fingerprint)
            throw Fault("this worker's model has another layout than the coordinator's: are both the same build?");
        if (plan.graph) graph_step_ = make_graph_step(step_, plan.training.batch_size);
    }
    TrainingStep& step() override { return graph_step_ ? *graph_step_ : static_cast<TrainingStep&>(step_); }
    Evaluation& evaluation() override { return evaluation_; }
    BatchedStep& batched_step() override {
        if (!batched_step_) {
            batched_step_ =
                std::make_unique<LibtorchBatchedStep>(plan_.model, plan_.clients_at_once, plan_.space,
                                                      dataset_.train(plan_.space), plan_.normalization.get(), plan_.optimizer);
            if (plan_.graph) graph_batched_step_ = make_graph_batched_step(*batched_step_, largest_batch());
        }
        return graph_batched_step_ ? *graph_batched_step_ : static_cast<BatchedStep&>(*batched_step_);
    }
    std::unique_ptr<TrainingStep> half(Half half, SplitChannel& channel) override {
        if (half == Half::Upper)
            return std::make_unique<SplitServerStep>(model_, plan_.cut, dataset_.train(), plan_.optimizer, channel);
        return std::make_unique<SplitClientStep>(model_, plan_.cut, dataset_.train(plan_.space), plan_.normalization.get(),
                                                 plan_.optimizer, channel);
    }

private:
    /// Of any client, so that the shape of a padded step depends on the experiment alone.
    std::size_t largest_batch() const {
        std::size_t largest = 0;
        for (std::uint32_t client = 0; client < dataset_.map().num_clients; ++client)
            largest = std::max(largest, dataset_.shard(client).size());
        return std::min<std::size_t>(largest, plan_.training.batch_size);
    }

    const WorkerPlan& plan_;
    const SharedDataset& dataset_;
    FlatModel model_;
    LibtorchStep step_;
    std::unique_ptr<TrainingStep> graph_step_;  // where the plan asks for it
    LibtorchEvaluation evaluation_;
    std::unique_ptr<LibtorchBatchedStep> batched_step_;  // once it is asked for
    std::unique_ptr<BatchedStep> graph_batched_step_;    // where the plan asks for it
};

std::unique_ptr<aggregation::Arena> open_arena(const WorkerPlan& plan) {
    if (plan.space == aggregation::MemorySpace::Host)
        return std::make_unique<aggregation::HostArenaView>(plan.arena_descriptor, plan.arena);
    return std::make_unique<aggregation::CudaArenaView>(aggregation::cuda_driver(), plan.arena_handle, plan.arena);
}

}  // namespace

std::unique_ptr<Trainer> make_libtorch_trainer(const WorkerPlan& plan, const SharedDataset& dataset) {
    prepare_libtorch(plan.threads);
    return std::make_unique<LibtorchTrainer>(plan, dataset);
}

int run_worker(int control_descriptor, std::uint32_t worker, int coordinator, TrainerFactory make_trainer) {
    follow_parent(coordinator);
    const ControlBlock block = ControlBlock::open(control_descriptor);
    WorkerCell& cell = block.worker(worker);
    try {
        const auto plan = block.plan<WorkerPlan>();
        SharedDataset dataset = SharedDataset::open(plan.data_descriptor, plan.data);
        if (plan.space == aggregation::MemorySpace::Cuda) dataset.open_on_device(aggregation::cuda_driver(), plan.data_handle);
        const std::unique_ptr<aggregation::Arena> arena = open_arena(plan);
        const std::unique_ptr<Trainer> trainer = make_trainer(plan, dataset);
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
