// A training step and an evaluation by the direct engine on a GPU. A step is one launch of one thread block, for modes and strategies that
// use each gradient. Other modes and strategies train whole clients in one launch (device_clients.h), with the same bits.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/data/transforms.h"
#include "clients/engine/device_network.h"
#include "clients/engine/training_step.h"

namespace fedhive::clients {

class DeviceStep final : public OneRowStep<> {
public:
    /// The network and the examples, in device memory, must outlive the step. batch: the expected largest batch size.
    DeviceStep(const DeviceNetwork& network, const ExamplesView& train, const aggregation::OptimizerOptions& optimizer,
               std::uint64_t batch);

    aggregation::ParamSpan parameters_of(std::size_t) override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override;
    double loss_of(std::size_t row) override;
    void loss_into(double& to, std::size_t row) override;

private:
    aggregation::ParamSpan trainable() const { return local_.span().first(gradient_.span().size); }

    const DeviceNetwork& network_;
    ExamplesView train_;
    Transforms transforms_;
    std::uint64_t batch_;
    direct::device::SharedPlacement placement_;
    direct::device::DeviceArray<float> rows_;  // of a group, if not in shared memory
    aggregation::ParamBuffer local_;           // the local model
    aggregation::ParamBuffer gradient_;        // [trainable]
    aggregation::ClientOptimizer optimizer_;
    ClientStart start_;
    std::uint32_t steps_ = 0;  // since begin()
    direct::device::DeviceArray<std::uint32_t> order_, device_transforms_;
    direct::device::DeviceArray<double> loss_, other_loss_;  // of batches that count, and that do not
    aggregation::PinnedArray<double> told_loss_;
};

/// Evaluates each example by itself and adds the losses in the examples' order, so that no bit depends on the number of rows in a block.
class DeviceEvaluation final : public Evaluation {
public:
    explicit DeviceEvaluation(const DeviceNetwork& network);
    void begin(aggregation::ConstParamSpan model) override { model_ = model; }
    void evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) override;

private:
    const DeviceNetwork& network_;
    aggregation::ConstParamSpan model_;
    direct::device::DeviceArray<std::uint32_t> order_;
    aggregation::PinnedArray<direct::device::RowOutcome> outcomes_;
};

}  // namespace fedhive::clients
