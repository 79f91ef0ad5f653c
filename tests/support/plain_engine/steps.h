// Local steps and evaluation over a Network: for one client, for many at once, and for the halves of a cut model.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/data/batches.h"
#include "clients/data/transforms.h"
#include "clients/engine/split_channel.h"
#include "clients/engine/training_step.h"
#include "clients/models/cut.h"
#include "tests/support/plain_engine/network.h"

#include <memory>

namespace fedhive::testing {

/// Examples and gather that all of them use; must outlive them.
struct PlainExamples {
    clients::ExamplesView view;
    clients::BatchGather gather;

    struct Batch {
        Values x;
        std::vector<std::int64_t> labels;
    };
    Batch batch(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> transforms = {}) const;
};

class PlainStep : public clients::OneRowStep<> {
public:
    PlainStep(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer);

    /// Views [P] each; the caller owns the memory.
    PlainStep(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer,
              aggregation::ParamSpan local, aggregation::ParamSpan gradient);

    aggregation::ParamSpan parameters_of(std::size_t) override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const clients::ClientStart& start) override;
    void compute_gradients(std::span<const clients::RowBatch> batches) override;
    void apply_gradients() override;
    double loss_of(std::size_t) override { return loss_; }

private:
    Network& network_;
    const PlainExamples& train_;
    clients::Transforms transforms_;
    aggregation::ParamBuffer own_local_, own_gradient_;
    aggregation::ParamSpan local_, gradient_;
    aggregation::ClientOptimizer optimizer_;
    clients::ClientStart start_;
    double loss_ = 0.0;
};

/// Trains its rows one after the other.
class PlainRows final : public clients::TrainingStep {
public:
    PlainRows(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer, std::size_t rows);

    std::size_t num_rows() const override { return rows_.size(); }
    aggregation::ParamSpan parameters_of(std::size_t row) override { return rows_[row]->parameters(); }
    void for_each_piece(const std::function<void(const clients::GradientPiece&)>& work) override;
    void begin(const clients::ClientStart& start) override;
    void compute_gradients(std::span<const clients::RowBatch> batches) override;
    void apply_gradients() override;
    double loss_of(std::size_t row) override { return rows_[row]->loss_sum(); }

private:
    aggregation::ParamBuffer local_, gradient_;  // [K, P]
    std::vector<std::unique_ptr<PlainStep>> rows_;
    std::vector<bool> stepped_;
};

class PlainEvaluation final : public clients::Evaluation {
public:
    PlainEvaluation(Network& network, const clients::BatchGather& gather) : network_(network), gather_(gather) {}
    void begin(aggregation::ConstParamSpan model) override { model_ = model; }
    void evaluate(const clients::ExamplesView& from, std::span<const std::uint32_t> indices,
                  clients::EvaluationSums& sums) override;

private:
    Network& network_;
    clients::BatchGather gather_;
    aggregation::ConstParamSpan model_;
};

/// One half of a model that is cut; the other one is at the channel's other end.
class PlainHalf final : public clients::OneRowStep<> {
public:
    PlainHalf(Network& network, const PlainExamples& train, const aggregation::OptimizerOptions& optimizer,
              const clients::Cut& cut, bool lower, clients::SplitChannel& channel);

    aggregation::ParamSpan parameters_of(std::size_t) override { return part(local_); }
    aggregation::ParamSpan gradient() override { return part(gradient_); }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const clients::ClientStart& start) override;
    void compute_gradients(std::span<const clients::RowBatch> batches) override;
    void apply_gradients() override;
    double loss_of(std::size_t) override { return loss_; }

private:
    aggregation::ParamSpan part(aggregation::ParamSpan whole) const {
        return lower_ ? cut_.client_part(whole) : cut_.server_part(whole);
    }
    void pass_below(const clients::RowBatch& batch);
    void pass_above(std::span<const std::uint32_t> batch);

    Network& network_;
    const PlainExamples& train_;
    clients::Cut cut_;
    bool lower_;
    clients::SplitChannel& channel_;
    clients::Transforms transforms_;
    aggregation::ParamBuffer local_, gradient_;
    aggregation::ClientOptimizer optimizer_;
    double loss_ = 0.0;
};

}  // namespace fedhive::testing
