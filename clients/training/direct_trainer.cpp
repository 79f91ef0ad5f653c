#include "clients/training/direct_trainer.h"

#include "aggregation/base/error.h"
#include "clients/training/clipped_step.h"
#include "clients/training/direct_step.h"

#include <optional>

namespace fedhive::clients {

namespace {

class DirectTrainer final : public Trainer {
public:
    DirectTrainer(const WorkerPlan& plan, const SharedDataset& dataset)
        : network_(plan.model),
          step_(network_, dataset.train(), plan.normalization.get(), plan.optimizer),
          evaluation_(network_, plan.data.shape, plan.normalization.get()) {
        if (network_.layout().fingerprint() != plan.layout_fingerprint)
            throw Fault("this worker's model has another layout than the coordinator's: are both the same build?");
        if (plan.clip_norm > 0.0) clipped_.emplace(step_, plan.clip_norm);
    }
    TrainingStep& step() override { return clipped_ ? *clipped_ : static_cast<TrainingStep&>(step_); }
    Evaluation& evaluation() override { return evaluation_; }

private:
    direct::Network network_;
    DirectStep step_;
    std::optional<ClippedStep> clipped_;  // where the plan asks for it
    DirectEvaluation evaluation_;
};

}  // namespace

std::unique_ptr<Trainer> make_direct_trainer(const WorkerPlan& plan, const SharedDataset& dataset) {
    return std::make_unique<DirectTrainer>(plan, dataset);
}

}  // namespace fedhive::clients
