// Local steps and evaluation over a Network: alone, many clients at once, and the two halves of a cut one.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/data/batches.h"
#include "clients/data/looks.h"
#include "clients/models/cut.h"
#include "clients/training/batched_step.h"
#include "clients/training/split_channel.h"
#include "clients/training/training_step.h"
#include "tests/support/plain_engine/network.h"

#include <memory>

namespace fedhive::testing {

/// What all of them need; outlives them.
struct Examples {
    clients::ExamplesView view;
    clients::BatchGather gather;

    struct Batch {
        Values x;
        std::vector<std::int64_t> labels;
    };
    Batch batch(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> looks = {}) const;
};

class PlainStep : public clients::TrainingStep {
public:
    PlainStep(Network& network, const Examples& train, const aggregation::OptimizerOptions& optimizer);

    aggregation::ParamSpan parameters() override { return local_; }
    aggregation::ParamSpan gradient() override { return gradient_; }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const clients::ClientStart& start) override;
    void begin_epoch(std::span<const std::uint32_t>) override { looks_.begin_epoch(); }
    void compute_gradient(std::span<const std::uint32_t> batch) override { compute_seen(batch, looks_.of(batch)); }
    void compute_seen(std::span<const std::uint32_t> batch, std::span<const std::uint32_t> looks);
    void apply_gradient() override;
    double loss_sum() override { return loss_; }

private:
    Network& network_;
    const Examples& train_;
    clients::EpochLooks looks_;
    aggregation::ParamBuffer local_, gradient_;
    aggregation::ClientOptimizer optimizer_;
    clients::ClientStart start_;
    double loss_ = 0.0;
};

/// Its rows are trained one after the other.
class PlainBatchedStep final : public clients::BatchedStep {
public:
    PlainBatchedStep(Network& network, const Examples& train, const aggregation::OptimizerOptions& optimizer, std::size_t rows);

    std::size_t num_rows() const override { return rows_.size(); }
    aggregation::ParamSpan parameters(std::size_t row) override { return rows_[row]->parameters(); }
    void begin(const clients::BatchedStart& start) override;
    void compute_gradients(std::span<const clients::RowBatch> batches) override;
    void apply_gradients() override;
    void loss_sums(std::span<double> sums) override;

private:
    const Examples& train_;
    std::vector<std::unique_ptr<PlainStep>> rows_;
    std::vector<bool> stepped_;
};

class PlainEvaluation final : public clients::Evaluation {
public:
    PlainEvaluation(Network& network, const clients::BatchGather& gather) : network_(network), gather_(gather) {}
    void begin(aggregation::ConstParamSpan model) override { model_ = model; }
    clients::EvaluationResult evaluate(const clients::ExamplesView& from, std::span<const std::uint32_t> indices) override;

private:
    Network& network_;
    clients::BatchGather gather_;
    aggregation::ConstParamSpan model_;
};

/// One half of a model that is cut; the other one is at the channel's other end.
class PlainHalf final : public clients::TrainingStep {
public:
    PlainHalf(Network& network, const Examples& train, const aggregation::OptimizerOptions& optimizer, const clients::Cut& cut,
              bool lower, clients::SplitChannel& channel);

    aggregation::ParamSpan parameters() override { return part(local_); }
    aggregation::ParamSpan gradient() override { return part(gradient_); }
    aggregation::ParamSpan optimizer_state() override { return optimizer_.state(); }
    void begin(const clients::ClientStart& start) override;
    void begin_epoch(std::span<const std::uint32_t>) override { looks_.begin_epoch(); }
    void compute_gradient(std::span<const std::uint32_t> batch) override;
    void apply_gradient() override;
    double loss_sum() override { return loss_; }

private:
    aggregation::ParamSpan part(aggregation::ParamSpan whole) const {
        return lower_ ? cut_.client_part(whole) : cut_.server_part(whole);
    }
    void pass_below(std::span<const std::uint32_t> batch);
    void pass_above(std::span<const std::uint32_t> batch);

    Network& network_;
    const Examples& train_;
    clients::Cut cut_;
    bool lower_;
    clients::SplitChannel& channel_;
    clients::EpochLooks looks_;
    aggregation::ParamBuffer local_, gradient_;
    aggregation::ClientOptimizer optimizer_;
    clients::ClientStart start_;
    double loss_ = 0.0;
};

}  // namespace fedhive::testing
