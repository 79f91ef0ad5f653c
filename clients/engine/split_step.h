// Split learning: one client's model in two halves that train as one, in two processes. In each local step the client's half sends the
// activations of the batch, the server's half sends back their gradient, and each half steps its own part of the parameters. Both
// halves are training steps, so both processes run the same local training (local_training.h), each over its part of the parameters.
// Both shuffle by the same keys; neither examples nor labels travel.
//
//   client's half                          channel                         server's half
//   examples ─▶ layers below the cut ──▶ activations [B, A] ──▶ layers above the cut ─▶ logits ─▶ loss ◀─ labels
//               backward, step       ◀──  gradient   [B, A] ◀── backward, step          B examples, A activations of each
//
// Source   Gupta and Raskar 2018 (arXiv:1810.06060), with labels at the server; Thapa et al. 2020 (arXiv:2004.12088).
#pragma once

#include "clients/engine/libtorch_step.h"
#include "clients/engine/split_channel.h"
#include "clients/models/cut.h"

namespace fedhive::clients {

/// One half's part of the flat parameters, with an optimiser of its own.
class ModelHalf {
public:
    ModelHalf(aggregation::ParamSpan parameters, aggregation::ParamSpan gradient,
              const aggregation::OptimizerOptions& optimizer);

    aggregation::ParamSpan parameters() const { return parameters_; }
    void begin(const ClientStart& start);
    aggregation::ParamSpan gradient() const { return gradient_; }
    aggregation::ParamSpan optimizer_state() { return optimizer_.state(); }
    void descend();

private:
    aggregation::ParamSpan parameters_;
    aggregation::ParamSpan gradient_;
    aggregation::ClientOptimizer optimizer_;
};

/// The layers below the cut. parameters() and ClientStart::global are the client's part; the
/// other part of the model is not used.
///
/// Order    the bits of a LibtorchStep of the uncut model on the same machine, if the server's half has no dropout. Each half draws from its
///          own stream; the client's is that of the uncut model.
class SplitClientStep final : public OneRowStep<> {
public:
    /// The references and the examples must outlive the step.
    SplitClientStep(FlatModel& model, const Cut& cut, const ExamplesView& train, const Normalization& normalization,
                    const aggregation::OptimizerOptions& optimizer, SplitChannel& channel);

    aggregation::ParamSpan parameters_of(std::size_t) override { return half_.parameters(); }
    aggregation::ParamSpan gradient() override { return half_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return half_.optimizer_state(); }
    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override { half_.descend(); }
    double loss_of(std::size_t) override { return 0.0; }  // only the server's half has the loss
    double gather_s() const override { return batches_.gather_s(); }

private:
    FlatModel& model_;
    Cut cut_;
    ExamplesView train_;
    BatchTensors batches_;
    ModelHalf half_;
    SplitChannel& channel_;
};

/// The layers above the cut, and the loss. parameters() and ClientStart::global are the server's part. It reads only the
/// examples' shape and labels. Order: as SplitClientStep.
class SplitServerStep final : public OneRowStep<> {
public:
    /// The references and the labels must outlive the step.
    SplitServerStep(FlatModel& model, const Cut& cut, const ExamplesView& train, const aggregation::OptimizerOptions& optimizer,
                    SplitChannel& channel);

    /// Sets the loss of the following steps; before that, it is the task's own.
    void set_loss(const LossPlan& loss) { loss_ = BatchLoss(loss, model_.device()); }

    aggregation::ParamSpan parameters_of(std::size_t) override { return half_.parameters(); }
    aggregation::ParamSpan gradient() override { return half_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return half_.optimizer_state(); }
    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override { half_.descend(); }
    double loss_of(std::size_t row) override;

private:
    at::Tensor labels_of(std::span<const std::uint32_t> batch) const;

    FlatModel& model_;
    Cut cut_;
    std::span<const std::int32_t> labels_;
    TargetShape target_;
    std::vector<std::int64_t> activation_shape_;  // of one example
    BatchLoss loss_;
    ModelHalf half_;
    SplitChannel& channel_;
    LossSum losses_;
};

}  // namespace fedhive::clients
