// A training step and an evaluation by the direct engine (clients/direct): small models on the CPU, without LibTorch.
#pragma once

#include "aggregation/base/clock.h"
#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/data/batches.h"
#include "clients/data/transforms.h"
#include "clients/direct/network.h"
#include "clients/engine/training_step.h"

#include <vector>

namespace fedhive::clients {

/// Gathers and normalises examples in host memory in the network's input format.
class DirectBatches {
public:
    DirectBatches(ExampleShape shape, const Normalization& normalization);

    /// Gathers a batch, which is valid until the next call. transforms, next: as in BatchGather.
    direct::Batch gather(const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::span<const std::uint32_t> transforms = {}, std::span<const std::uint32_t> next = {});
    /// As BatchGather::expect().
    void expect(const ExamplesView& from, std::span<const std::uint32_t> indices) const { gather_.expect(from, indices); }
    double gather_s() const { return gathering_.seconds(); }

private:
    ExampleShape shape_;
    BatchGather gather_;
    Stopwatch gathering_;
    direct::Floats examples_;
    std::vector<std::int64_t> labels_;
    std::vector<float> numbers_;
};

class DirectStep final : public OneRowStep<> {
public:
    /// The network and the examples must outlive the step.
    DirectStep(direct::Network& network, const ExamplesView& train, const Normalization& normalization,
               const aggregation::OptimizerOptions& optimizer);

    aggregation::ParamSpan parameters_of(std::size_t) override { return own_model(); }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const ClientStart& start) override;
    void compute_gradients(std::span<const RowBatch> batches) override;
    void apply_gradients() override;
    void step_rows(std::span<const RowBatch> batches) override;
    void step_changed(std::span<const RowBatch> batches, const ChangePiece& change) override;
    double loss_of(std::size_t) override { return loss_; }
    double gather_s() const override { return batches_.gather_s(); }

private:
    void descend(const RowBatch& batch, const direct::ChangeGradient* change);
    std::uint64_t next_dropout_key();
    direct::Batch gather(const RowBatch& batch);
    aggregation::ParamSpan own_model();
    aggregation::ParamSpan trainable() { return own_model().first(gradient_.span().size); }

    direct::Network& network_;
    ExamplesView train_;
    DirectBatches batches_;
    Transforms transforms_;
    PassFollower pass_;
    bool is_global_ = false;             // the local model still equals start_.global
    aggregation::ParamBuffer local_;     // [P]
    aggregation::ParamBuffer gradient_;  // [trainable]
    aggregation::ClientOptimizer optimizer_;
    ClientStart start_;
    std::uint32_t steps_ = 0;  // since begin()
    double loss_ = 0.0;
};

class DirectEvaluation final : public Evaluation {
public:
    DirectEvaluation(direct::Network& network, ExampleShape shape, const Normalization& normalization);
    void begin(aggregation::ConstParamSpan model) override { model_ = model; }
    void evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) override;
    void answer(const ExamplesView& from, std::span<const std::uint32_t> indices, ModelAnswers& answers) override;

private:
    direct::Network& network_;
    DirectBatches batches_;
    aggregation::ConstParamSpan model_;
};

}  // namespace fedhive::clients
