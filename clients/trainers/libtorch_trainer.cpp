#include "clients/trainers/libtorch_trainer.h"

#include "aggregation/base/error.h"
#include "clients/engine/formula_losses.h"
#include "clients/engine/libtorch_guard.h"
#include "clients/engine/libtorch_step.h"
#include "clients/engine/recorded_step.h"
#include "clients/engine/split_step.h"
#include "clients/engine/vmap_step.h"
#include "clients/exported/rehearsal.h"
#include "clients/models/flat_model.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>

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
          evaluation_(model_, plan.data.shape, plan.normalization.get()),
          output_loss_(output_loss_of(plan)) {
        if (model_.layout().fingerprint() != plan.layout_fingerprint)
            throw Fault("this worker's model layout differs from the coordinator's; check that both are the same build");
        step_.set_loss(plan.loss);
        if (output_loss_) formula_ = std::make_unique<FormulaLosses>(*output_loss_, plan.model, plan.space, frozen);
        step_.set_loss(formula_.get());
        if (plan.graph) recorded_ = make_recorded_step(step_, plan.training.batch_size);
    }
    TrainingStep& step() override { return recorded_ ? *recorded_ : static_cast<TrainingStep&>(step_); }
    Evaluation& evaluation() override { return evaluation_; }
    OutputLoss* output_loss() override { return output_loss_.get(); }
    TrainingStep& step_at_once() override {
        if (!at_once_) {
            at_once_ = std::make_unique<VmapStep>(plan_.model, plan_.clients_at_once, plan_.space, dataset_.train(plan_.space),
                                                  plan_.normalization.get(), std::get<aggregation::SgdOptions>(plan_.optimizer),
                                                  frozen_, plan_.precision);
            at_once_->set_loss(plan_.loss);
            if (plan_.graph) recorded_at_once_ = make_recorded_step(*at_once_, largest_batch());
        }
        return recorded_at_once_ ? *recorded_at_once_ : static_cast<TrainingStep&>(*at_once_);
    }
    std::unique_ptr<TrainingStep> half(Half half, SplitChannel& channel) override {
        if (half == Half::Upper) {
            auto upper = std::make_unique<SplitServerStep>(model_, plan_.cut, dataset_.train(), plan_.optimizer, channel);
            upper->set_loss(plan_.loss);
            return upper;
        }
        return std::make_unique<SplitClientStep>(model_, plan_.cut, dataset_.train(plan_.space), plan_.normalization.get(),
                                                 plan_.optimizer, channel);
    }

private:
    /// Of any client, so that the shape of a padded step depends on the experiment alone.
    std::size_t largest_batch() const { return std::min<std::size_t>(dataset_.largest_shard(), plan_.training.batch_size); }

    const WorkerPlan& plan_;
    const SharedDataset& dataset_;
    aggregation::ConstParamSpan frozen_;
    FlatModel model_;
    LibtorchStep step_;
    LibtorchEvaluation evaluation_;
    std::unique_ptr<OutputLoss> output_loss_;
    std::unique_ptr<FormulaLosses> formula_;                     // of output_loss_
    std::unique_ptr<VmapStep> at_once_;                          // made on first use
    std::unique_ptr<TrainingStep> recorded_, recorded_at_once_;  // null unless the plan asks for them
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
