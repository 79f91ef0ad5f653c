// The interface of engines: a local step of one client, or of many at once, from flat parameters and a batch for each to
// updated parameters and losses. An engine knows layers and batches, but no algorithm. Wrappers add gradient rules
// (local_step.h) and a worker's heartbeats (supervised_step.h). A step has two halves, gradients and
// optimiser, so that rules can act in between.
//
//   row      the index of a client among those trained at once, fixed as long as they train, so that a client's arithmetic does
//            not depend on the others' progress. Most engines have one row.
//   rest     a row with an empty batch takes no part in a step: its parameters, momentum and loss stay unchanged.
//   P        floats of the model; the first `trainable` of them are trained
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/row_ops.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/data/transforms.h"
#include "clients/engine/racy_model.h"
#include "clients/protocol/task.h"
#include "clients/tasks/evaluation_sums.h"

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace fedhive::clients {

/// The initial state of clients.
struct ClientStart {
    std::size_t rows = 1;                // number of clients, at most num_rows()
    aggregation::ConstParamSpan global;  // [P], unchanged until the clients' last step unless it is `shared`
    RoundRate rate;                      // an engine reads the rate only
    bool whole_gradients = false;        // no clipping by training.clip_norm
    std::uint64_t dropout_seed = 0;      // of all that is random in the forward passes of all rows
    // For engines with one row:
    aggregation::ConstParamSpan optimizer_state;  // initial state, read by begin() only; empty: zeros
    RacyModel shared;  // mode hogwild: each step reads this model and writes it in place; empty: the local model is used
};

/// A row's batch in one step.
struct RowBatch {
    std::span<const std::uint32_t> examples;  // indices of training examples
    TransformKey augmentation_key = {};       // key of the examples' augmentation, if the data set has one
    /// The pass's remaining indices, contiguous after `examples` and unchanged; empty if unknown.
    std::span<const std::uint32_t> lookahead = {};
    std::span<const std::uint32_t> next = {};  // examples of the next batch, if the plan asks for it (takes_next)
    TransformKey next_key = {};
    bool counts = true;  // its loss counts in loss_of(); false for the second pass of a step over one batch

    RowBatch next_batch() const { return {.examples = next, .augmentation_key = next_key}; }
};

/// Parameters [first, first + width) of all rows of a step and their gradients, which a rule can change in place.
struct GradientPiece {
    std::size_t first = 0;
    aggregation::RowsSpan parameters, gradients;
};

using ChangePiece = std::function<void(const GradientPiece&)>;

/// The gradient and the optimiser's state, each as one vector, of an engine with one row.
class OneRow {
public:
    OneRow() = default;
    OneRow(const OneRow&) = delete;
    OneRow& operator=(const OneRow&) = delete;
    virtual ~OneRow() = default;

    /// The gradient that the next apply_gradients() uses, [trainable], in the step's memory space. It may be changed between the two
    /// halves of a step.
    virtual aggregation::ParamSpan gradient() = 0;

    /// The optimiser's state, [vectors][trainable], in the step's memory space; empty if it keeps none.
    virtual aggregation::ParamSpan optimizer_state() = 0;
};

class TrainingStep {
public:
    TrainingStep() = default;
    TrainingStep(const TrainingStep&) = delete;
    TrainingStep& operator=(const TrainingStep&) = delete;
    virtual ~TrainingStep() = default;

    /// The largest number of clients at once.
    virtual std::size_t num_rows() const { return 1; }

    /// A row's local model, [P].
    virtual aggregation::ParamSpan parameters_of(std::size_t row) = 0;
    aggregation::ParamSpan parameters() { return parameters_of(0); }

    /// The vectors of an engine with one row; null for an engine with several.
    virtual OneRow* one_row() { return nullptr; }

    /// Calls `work` for pieces of the gradient, which together contain each parameter once. A piece has all rows of the step, also those at
    /// rest.
    virtual void for_each_piece(const ChangePiece& work) = 0;

    /// Begins clients: local models = global model; optimiser state and random streams from `start`; loss sums 0.
    virtual void begin(const ClientStart& start) = 0;

    /// Forward and backward pass with one batch for each row of the start, at least one of them not empty. Parameters stay
    /// unchanged, except that with a shared model the local one is read from it.
    ///
    /// Order    a row's bits depend on its index, its own values and the shape of the step, not on the other rows' values. The shape is the
    ///          number of rows up to the last that is not at rest, and the size of the largest batch; both may be larger in a padded step.
    virtual void compute_gradients(std::span<const RowBatch> batches) = 0;

    /// One optimiser step in each row that had a batch, on the local or the shared model.
    virtual void apply_gradients() = 0;

    /// compute_gradients() and apply_gradients(), with the bits of the two in sequence. Gradients are unspecified afterwards.
    virtual void step_rows(std::span<const RowBatch> batches) {
        compute_gradients(batches);
        apply_gradients();
    }

    /// step_rows() with gradients that `change` changes between its two halves. An engine may step a piece before the next one is known, and
    /// each step has the same pieces in the same order.
    virtual void step_changed(std::span<const RowBatch> batches, const ChangePiece& change) {
        compute_gradients(batches);
        for_each_piece(change);
        apply_gradients();
    }

    /// compute_gradients() for one row, without augmentation.
    void compute_gradient(std::span<const std::uint32_t> examples) { compute_gradients(std::vector<RowBatch>{{examples}}); }
    void step(std::span<const std::uint32_t> examples) { step_rows(std::vector<RowBatch>{{examples}}); }

    /// Sum of (mean loss) * (examples) over a row's batches since begin(). An example counts by its counted targets (CountedTargets). Waits
    /// for the device.
    virtual double loss_of(std::size_t row) = 0;
    double loss_sum() { return loss_of(0); }

    /// to = loss_of(row), without waiting: read `to` after aggregation::synchronize(). For a device, `to` must be in memory that it can
    /// write.
    virtual void loss_into(double& to, std::size_t row) { to = loss_of(row); }

    /// Seconds that the host has spent in gathering batches since construction; 0 if a device gathers.
    virtual double gather_s() const { return 0.0; }
};

/// An engine with one row; its gradient is one piece.
template <typename Step = TrainingStep>
class OneRowStep : public Step, public OneRow {
public:
    OneRow* one_row() final { return this; }
    void for_each_piece(const std::function<void(const GradientPiece&)>& work) final {
        const aggregation::ParamSpan along = gradient(), local = this->parameters().first(along.size);
        work({0, {local.data, 1, local.size, local.size, local.space}, {along.data, 1, along.size, along.size, along.space}});
    }
};

/// The batch of a step of one row.
inline const RowBatch& only_batch(std::span<const RowBatch> batches) {
    FEDHIVE_CHECK_EQ(batches.size(), std::size_t{1});
    return batches.front();
}

/// Follows a client through its passes over its examples, for engines that prepare later batches.
class PassFollower {
public:
    void begin() { lookahead_ = {}; }

    /// Examples that this batch announces: its own and the rest of the pass; empty if an earlier batch has announced them.
    std::span<const std::uint32_t> announced_by(const RowBatch& batch) {
        const std::span<const std::uint32_t> known = lookahead_;
        lookahead_ = batch.lookahead;
        const std::size_t size = batch.examples.size() + batch.lookahead.size();
        if (batch.examples.data() == known.data() && size == known.size()) return {};
        return {batch.examples.data(), size};
    }

private:
    std::span<const std::uint32_t> lookahead_;
};

/// A model's outputs for n examples, in host memory: logits [n][classes]; features [n][features] (clients/models/feature_layer.h) if they
/// are needed.
struct ModelAnswers {
    bool wants_features = false;
    std::vector<float> logits{}, features{};
};

/// Evaluates a model on examples.
class Evaluation {
public:
    Evaluation() = default;
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;
    virtual ~Evaluation() = default;

    /// Sets the model, [P], of the following passes. It must not change until the last of them, and no training may run meanwhile.
    virtual void begin(aggregation::ConstParamSpan model) = 0;

    /// One forward pass over the examples `indices` of `from`, at least one; adds their losses and outcomes to `sums`.
    virtual void evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices, EvaluationSums& sums) = 0;

    /// Writes the model's outputs for the examples `indices` of `from`. Engines without Feature::LossFormula throw Fault.
    virtual void answer(const ExamplesView&, std::span<const std::uint32_t>, ModelAnswers&) {
        throw Fault("this engine tells no logits of examples");
    }

    /// begin() and evaluate() over examples [first, first + count).
    void evaluate_range(aggregation::ConstParamSpan model, const ExamplesView& from, std::uint64_t first, std::uint64_t count,
                        EvaluationSums& sums) {
        std::vector<std::uint32_t> indices(count);
        std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
        begin(model);
        evaluate(from, indices, sums);
    }
};

}  // namespace fedhive::clients
