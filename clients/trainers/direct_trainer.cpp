#include "clients/trainers/direct_trainer.h"

#include "aggregation/base/error.h"
#include "clients/engine/device_step.h"
#include "clients/engine/direct_step.h"
#include "clients/visit/device_clients.h"

#include <algorithm>
#include <optional>

namespace fedhive::clients {

using aggregation::MemorySpace;

namespace {

void require_layout(const aggregation::Layout& layout, const WorkerPlan& plan) {
    if (layout.fingerprint() != plan.layout_fingerprint)
        throw Fault("this worker's model layout differs from the coordinator's; check that both are the same build");
}

class DirectTrainer final : public Trainer {
public:
    DirectTrainer(const WorkerPlan& plan, const SharedDataset& dataset, aggregation::ConstParamSpan frozen)
        : loss_(plan.loss),
          network_(plan.model, direct::kernels(), frozen),
          step_(network_, dataset.train(), plan.normalization.get(), plan.optimizer),
          evaluation_(network_, plan.data.shape, plan.normalization.get()),
          formula_(output_loss_of(plan)) {
        require_layout(network_.layout(), plan);
        network_.set_loss(loss_.terms_on_host());
        network_.set_loss(formula_.get());
    }
    TrainingStep& step() override { return step_; }
    Evaluation& evaluation() override { return evaluation_; }
    OutputLoss* output_loss() override { return formula_.get(); }

private:
    LossPlan loss_;
    direct::Network network_;
    DirectStep step_;
    DirectEvaluation evaluation_;
    std::unique_ptr<OutputLoss> formula_;
};

class DeviceTrainer final : public Trainer {
public:
    DeviceTrainer(const WorkerPlan& plan, const SharedDataset& dataset)
        : network_(plan.model, plan.normalization.get(), shared_bytes_of_device()),
          batch_(std::min<std::uint64_t>(plan.training.batch_size, dataset.largest_shard())),
          step_(network_, dataset.train(MemorySpace::Cuda), plan.optimizer, batch_),
          evaluation_(network_) {
        require_layout(network_.layout(), plan);
        network_.set_loss(plan.loss);
        // Who looks at each gradient, and any other rule, takes the step.
        const auto* sgd = std::get_if<aggregation::SgdOptions>(&plan.optimizer);
        const bool in_blocks = way_of(Engine::Direct, plan.space, plan.asked) == Way::DirectBlocks;
        if (in_blocks && sgd != nullptr && plan.clip_norm == 0.0 && plan.method.empty())
            clients_.emplace(network_, dataset.train(MemorySpace::Cuda), *sgd, batch_);
    }
    TrainingStep& step() override { return step_; }
    Evaluation& evaluation() override { return evaluation_; }
    WholeClients* whole_clients() override { return clients_ ? &*clients_ : nullptr; }

private:
    DeviceNetwork network_;
    std::uint64_t batch_;
    DeviceStep step_;
    DeviceEvaluation evaluation_;
    std::optional<DeviceClients> clients_;
};

}  // namespace

std::unique_ptr<Trainer> make_direct_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                             aggregation::ConstParamSpan frozen) {
    if (plan.space == MemorySpace::Host) return std::make_unique<DirectTrainer>(plan, dataset, frozen);
    FEDHIVE_CHECK_EQ(frozen.size, 0U);
    return std::make_unique<DeviceTrainer>(plan, dataset);
}

}  // namespace fedhive::clients
