#include "clients/training/libtorch_trainer.h"

#include "aggregation/base/error.h"
#include "clients/exported/rehearsal.h"
#include "clients/models/flat_model.h"
#include "clients/training/clipped_step.h"
#include "clients/training/graph_batched_step.h"
#include "clients/training/graph_step.h"
#include "clients/training/libtorch_batched_step.h"
#include "clients/training/libtorch_guard.h"
#include "clients/training/libtorch_step.h"
#include "clients/training/split_step.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>
#include <optional>

namespace fedhive::clients {

namespace {

class LibtorchTrainer final : public Trainer {
public:
    LibtorchTrainer(const WorkerPlan& plan, const SharedDataset& dataset, aggregation::ConstParamSpan frozen)
        : plan_(plan),
          dataset_(dataset),
          frozen_(frozen),
          model_(plan.model, plan.space, frozen),
          step_(model_, dataset.train(plan.space), plan.normalization.get(), plan.optimizer, plan.precision),
          evaluation_(model_, plan.data.shape, plan.normalization.get()) {
        if (model_.layout().fingerprint() != plan.layout_fingerprint)
            throw Fault("this worker's model has another layout than the coordinator's: are both the same build?");
        if (plan.graph) graph_step_ = make_graph_step(step_, plan.training.batch_size);
        if (plan.clip_norm > 0.0) clipped_.emplace(whole_step(), plan.clip_norm);
    }
    TrainingStep& step() override { return clipped_ ? *clipped_ : whole_step(); }
    Evaluation& evaluation() override { return evaluation_; }
    BatchedStep& batched_step() override {
        if (!batched_step_) {
            batched_step_ = std::make_unique<LibtorchBatchedStep>(
                plan_.model, plan_.clients_at_once, plan_.space, dataset_.train(plan_.space), plan_.normalization.get(),
                std::get<aggregation::SgdOptions>(plan_.optimizer), frozen_, plan_.precision);
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
    TrainingStep& whole_step() { return graph_step_ ? *graph_step_ : static_cast<TrainingStep&>(step_); }

    /// Of any client, so that the shape of a padded step depends on the experiment alone.
    std::size_t largest_batch() const {
        std::size_t largest = 0;
        for (std::uint32_t client = 0; client < dataset_.map().num_clients; ++client)
            largest = std::max(largest, dataset_.shard(client).size());
        return std::min<std::size_t>(largest, plan_.training.batch_size);
    }

    const WorkerPlan& plan_;
    const SharedDataset& dataset_;
    aggregation::ConstParamSpan frozen_;
    FlatModel model_;
    LibtorchStep step_;
    std::unique_ptr<TrainingStep> graph_step_;  // where the plan asks for it …
    std::optional<ClippedStep> clipped_;        // … and this around either
    LibtorchEvaluation evaluation_;
    std::unique_ptr<LibtorchBatchedStep> batched_step_;  // once it is asked for
    std::unique_ptr<BatchedStep> graph_batched_step_;    // where the plan asks for it
};

std::unique_ptr<Trainer> make_libtorch_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                               aggregation::ConstParamSpan frozen) {
    prepare_libtorch(plan.threads);
    return translated([&] { return std::make_unique<LibtorchTrainer>(plan, dataset, frozen); });
}

int num_cuda_devices() { return static_cast<int>(at::detail::getCUDAHooks().deviceCount()); }

}  // namespace

}  // namespace fedhive::clients

const fedhive::clients::LibtorchEngine& fedhive_libtorch_engine() {
    using namespace fedhive::clients;
    static constexpr LibtorchEngine engine{make_libtorch_trainer, draw_with_libtorch, exported::rehearse, num_cuda_devices};
    return engine;
}
