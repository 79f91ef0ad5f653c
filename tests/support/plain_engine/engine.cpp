// The engine of programs without LibTorch (clients/training/engine.h): everything around training runs under sanitizers with it.
#include "clients/training/engine.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/exported/rehearsal.h"
#include "clients/training/direct_trainer.h"
#include "clients/training/libtorch_info.h"
#include "tests/support/plain_engine/steps.h"

#include <cmath>

namespace fedhive::clients {

namespace {

class PlainTrainer final : public Trainer {
public:
    PlainTrainer(const WorkerPlan& plan, const SharedDataset& dataset)
        : plan_(plan),
          network_(plan.model),
          train_{dataset.train(), BatchGather(plan.data.shape, plan.normalization.get())},
          step_(network_, train_, plan.optimizer),
          evaluation_(network_, train_.gather) {
        if (network_.layout().fingerprint() != plan.layout_fingerprint)
            throw Fault("this worker's model has another layout than the coordinator's: are both the same build?");
    }
    TrainingStep& step() override { return step_; }
    Evaluation& evaluation() override { return evaluation_; }
    BatchedStep& batched_step() override {
        if (!batched_step_)
            batched_step_ =
                std::make_unique<testing::PlainBatchedStep>(network_, train_, plan_.optimizer, plan_.clients_at_once);
        return *batched_step_;
    }
    std::unique_ptr<TrainingStep> half(Half half, SplitChannel& channel) override {
        return std::make_unique<testing::PlainHalf>(network_, train_, plan_.optimizer, plan_.cut, half == Half::Lower, channel);
    }

private:
    const WorkerPlan& plan_;
    testing::Network network_;
    testing::Examples train_;
    testing::PlainStep step_;
    testing::PlainEvaluation evaluation_;
    std::unique_ptr<BatchedStep> batched_step_;  // once it is asked for
};

}  // namespace

std::unique_ptr<Trainer> make_trainer(const WorkerPlan& plan, const SharedDataset& dataset) {
    if (plan.engine == Engine::Direct) return make_direct_trainer(plan, dataset);
    return std::make_unique<PlainTrainer>(plan, dataset);
}

void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to) {
    Stream stream(seed, Purpose::ModelInit);
    const double bound = 1.0 / std::sqrt(static_cast<double>(spec.input.num_values()));
    for (const aggregation::LayoutEntry& entry : layout.entries())
        for (float& value : to.part(entry.offset, entry.size).host())
            value = static_cast<float>(bound * (2.0 * stream.uniform() - 1.0));
}

namespace exported {
void rehearse(const Program&, const ExampleShape&, std::int64_t, std::uint64_t) {
    throw ConfigError("this program has no LibTorch, which computes graphs");
}
}  // namespace exported

LibtorchInfo libtorch_info() { return {.version = "none, the tests' plain engine", .cpu_capability = "plain"}; }

}  // namespace fedhive::clients
