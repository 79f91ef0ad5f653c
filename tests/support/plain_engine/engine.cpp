// Stand-in for LibTorch in programs without it (clients/trainers/engine.h), so that everything around training
// can run under sanitizers.
#include "clients/trainers/engine.h"

#include "aggregation/base/error.h"
#include "tests/support/plain_engine/steps.h"

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
    TrainingStep& step_at_once() override {
        if (!at_once_)
            at_once_ = std::make_unique<testing::PlainRows>(network_, train_, plan_.optimizer, plan_.clients_at_once);
        return *at_once_;
    }
    std::unique_ptr<TrainingStep> half(Half half, SplitChannel& channel) override {
        return std::make_unique<testing::PlainHalf>(network_, train_, plan_.optimizer, plan_.cut, half == Half::Lower, channel);
    }

private:
    const WorkerPlan& plan_;
    testing::Network network_;
    testing::PlainExamples train_;
    testing::PlainStep step_;
    testing::PlainEvaluation evaluation_;
    std::unique_ptr<TrainingStep> at_once_;  // created on first use
};

std::unique_ptr<Trainer> make_plain_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                            aggregation::ConstParamSpan frozen) {
    if (frozen.size > 0) throw ConfigError("this program has no LibTorch, which trains around frozen parameters");
    return std::make_unique<PlainTrainer>(plan, dataset);
}

void no_graphs(const exported::Program&, const DataShape&, std::uint64_t) {
    throw ConfigError("this program has no LibTorch, which computes graphs");
}

void no_normal_tensors(const ModelSpec&, const aggregation::Layout&, std::uint64_t, aggregation::ParamSpan) {
    throw ConfigError("this program has no LibTorch, which draws normal tensors");
}

}  // namespace

const LibtorchEngine& libtorch_engine() {
    static constexpr LibtorchEngine engine{make_plain_trainer, no_normal_tensors, no_graphs, [] { return 0; }};
    return engine;
}

}  // namespace fedhive::clients
