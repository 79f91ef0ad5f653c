#include "clients/visit/loss_visit.h"

namespace fedhive::clients {

namespace {

class StepOfLoss final : public GradientRule {
public:
    explicit StepOfLoss(OutputLoss& loss) : loss_(loss) {}

    void begin(const ClientStart&) override {
        step_ = 0;
        loss_.set("step", 0.0);
    }
    bool acts() const override { return true; }
    void change(TrainingStep&, std::span<const RowBatch>) override { loss_.set("step", static_cast<double>(++step_)); }

private:
    OutputLoss& loss_;
    std::uint64_t step_ = 0;
};

}  // namespace

void tell_steps(LocalStep& step, OutputLoss& loss) {
    if (loss.reads("step")) step.add<StepOfLoss>(loss);
}

void begin_loss(OutputLoss& loss, const FormulaVisit& visit, const VisitFacts& facts, const ExamplesView& examples,
                std::span<const std::uint32_t> shard) {
    loss.set("round", static_cast<double>(facts.round));
    loss.set("n", static_cast<double>(facts.num_examples));
    loss.set("lr", facts.lr);
    loss.set("steps", static_cast<double>(facts.steps));
    for (const auto& [name, value] : visit.numbers()) loss.set(name, value);
    if (loss.reads("counts")) loss.set_counts(counts_by_class(examples, shard, loss.classes()));
    visit.tables().each_read([&](std::string_view name, std::span<const float> values) { loss.set_by_class(name, values); });
    for (OutputLoss::Other& other : loss.others()) other.model = visit.values_of(other.at);
    loss.start();
}

}  // namespace fedhive::clients
