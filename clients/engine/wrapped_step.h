// A training step that wraps another one and forwards all calls to it, unless overridden.
#pragma once

#include "clients/engine/training_step.h"

namespace fedhive::clients {

class WrappedStep : public TrainingStep {
public:
    /// `step` must outlive the wrapper.
    explicit WrappedStep(TrainingStep& step) : step_(step) {}

    std::size_t num_rows() const override { return step_.num_rows(); }
    aggregation::ParamSpan parameters_of(std::size_t row) override { return step_.parameters_of(row); }
    OneRow* one_row() override { return step_.one_row(); }
    void for_each_piece(const std::function<void(const GradientPiece&)>& work) override { step_.for_each_piece(work); }
    void begin(const ClientStart& start) override { step_.begin(start); }
    void compute_gradients(std::span<const RowBatch> batches) override { step_.compute_gradients(batches); }
    void apply_gradients() override { step_.apply_gradients(); }
    double loss_of(std::size_t row) override { return step_.loss_of(row); }
    void loss_into(double& to, std::size_t row) override { step_.loss_into(to, row); }
    double gather_s() const override { return step_.gather_s(); }

protected:
    TrainingStep& inner() { return step_; }

private:
    TrainingStep& step_;
};

}  // namespace fedhive::clients
