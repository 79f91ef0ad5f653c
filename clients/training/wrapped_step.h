// A training step around another one: all that it does not do itself is the other's.
#pragma once

#include "clients/training/training_step.h"

namespace fedhive::clients {

class WrappedStep : public TrainingStep {
public:
    /// The other step must outlive it.
    explicit WrappedStep(TrainingStep& step) : step_(step) {}

    aggregation::ParamSpan parameters() override { return step_.parameters(); }
    aggregation::ParamSpan gradient() override { return step_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return step_.optimizer_state(); }
    void begin(const ClientStart& start) override { step_.begin(start); }
    void begin_epoch(std::span<const std::uint32_t> order) override { step_.begin_epoch(order); }
    void compute_gradient(std::span<const std::uint32_t> batch) override { step_.compute_gradient(batch); }
    void apply_gradient() override { step_.apply_gradient(); }
    double loss_sum() override { return step_.loss_sum(); }
    void loss_sum_into(double& to) override { step_.loss_sum_into(to); }
    double gather_s() const override { return step_.gather_s(); }

protected:
    TrainingStep& inner() { return step_; }

private:
    TrainingStep& step_;
};

}  // namespace fedhive::clients
