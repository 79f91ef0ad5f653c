// A local step of one client, or of many at once, behind one interface: flat parameters and a batch for each in, updated parameters and losses
// out. Whoever implements it is an engine: it knows layers and batches, and no algorithm. What an algorithm makes of a gradient stands around it
// (local_step.h), and so do a worker's signs of life (supervised_step.h). A step has two halves, for what comes in between.
//
//   row      place of a client among those trained at once. It belongs to the client as long as they train, so that nobody's arithmetic
//            depends on what becomes of the others. Most engines have one.
//   rest     a row whose batch is empty takes no part in a step: its parameters, momentum and loss stay as they are.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/row_ops.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/data/looks.h"
#include "clients/protocol/task.h"
#include "clients/training/racy_model.h"

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace fedhive::clients {

/// What clients start from.
struct ClientStart {
    std::size_t rows = 1;                // of them, at most num_rows()
    aggregation::ConstParamSpan global;  // [P], unchanged until the clients' last step, but where it is `shared`
    Objective objective;                 // an engine looks at the rate alone
    bool whole_gradients = false;        // whatever training.clip_norm says
    std::uint64_t dropout_seed = 0;      // everything random inside the model's forward pass, of all rows
    // Of one row:
    aggregation::ConstParamSpan optimizer_state;  // to go on with, read by begin() only; empty: from 0
    RacyModel shared;  // Hogwild: every step reads this model and writes it in place; empty: the local one
};

/// What a row trains on in one step.
struct RowBatch {
    std::span<const std::uint32_t> examples;  // indices of training examples
    LookKey look = {};                        // by what they are seen where the data set is augmented
    std::span<const std::uint32_t> coming =
        {};  // behind them in memory, the rest of this pass, which stays as it is; or nothing is known of it
};

/// Parameters [first, first + width) of all rows of a step, and their gradients: what a rule can change without a copy.
struct GradientPiece {
    std::size_t first = 0;
    aggregation::RowsSpan parameters, gradients;
};

class TrainingStep {
public:
    TrainingStep() = default;
    TrainingStep(const TrainingStep&) = delete;
    TrainingStep& operator=(const TrainingStep&) = delete;
    virtual ~TrainingStep() = default;

    /// The most clients at once (K).
    virtual std::size_t num_rows() const { return 1; }

    /// A row's local model, [P].
    virtual aggregation::ParamSpan parameters_of(std::size_t row) = 0;
    aggregation::ParamSpan parameters() { return parameters_of(0); }

    /// Of an engine with one row: the gradient that the next apply_gradients() follows, in one piece, [trainable]; what the optimiser keeps,
    /// [vectors of it][trainable], empty where that is nothing. All in one memory space. Between the halves of a step the gradient may be changed.
    virtual aggregation::ParamSpan gradient() = 0;
    virtual aggregation::ParamSpan optimizer_state() = 0;

    /// The same gradient piece by piece, each parameter in one of them, of all rows of the step, those at rest too.
    virtual void for_each_piece(const std::function<void(const GradientPiece&)>& work) {
        const aggregation::ParamSpan along = gradient(), local = parameters().first(along.size);
        work({0, {local.data, 1, local.size, local.size, local.space}, {along.data, 1, along.size, along.size, along.space}});
    }

    /// Local models = global model; the optimiser as the start says; random streams of the clients' own; loss sums 0.
    virtual void begin(const ClientStart& start) = 0;

    /// Forward and backward: one batch for each row of the start, at least one of them not empty. No parameter changes, but that the local model
    /// becomes the shared one where there is one.
    ///
    /// Order    what a row computes depends on its place, on its own values and on the shape of the step (rows up to the last one that is not
    ///          at rest and the largest batch, or more where a step is padded), not on the other rows' values.
    virtual void compute_gradients(std::span<const RowBatch> batches) = 0;

    /// One step of the optimiser in each row that had a batch, on the local model or on the shared one.
    virtual void apply_gradients() = 0;

    /// Both halves, with the bits of one after the other. Afterwards gradients may hold anything.
    virtual void step_rows(std::span<const RowBatch> batches) {
        compute_gradients(batches);
        apply_gradients();
    }

    /// Of one row, which sees examples as they are.
    void compute_gradient(std::span<const std::uint32_t> examples) { compute_gradients(std::vector<RowBatch>{{examples}}); }
    void step(std::span<const std::uint32_t> examples) { step_rows(std::vector<RowBatch>{{examples}}); }

    /// Sum over a row's batches since begin() of (mean loss) * (size), as far as targets count (CountedTargets). Waits for the device.
    virtual double loss_of(std::size_t row) = 0;
    double loss_sum() { return loss_of(0); }

    /// The same without waiting, to be read after aggregation::synchronize(); on a device, `to` lies in memory that it can write.
    virtual void loss_into(double& to, std::size_t row) { to = loss_of(row); }

    /// Seconds in which the host has gathered batches, since the step was made; 0 where a device does it.
    virtual double gather_s() const { return 0.0; }
};

/// The batch of a step of one row.
inline const RowBatch& only_batch(std::span<const RowBatch> batches) {
    FEDHIVE_CHECK_EQ(batches.size(), std::size_t{1});
    return batches.front();
}

/// Follows a client through its passes over its examples, for engines that prepare for what is coming.
class PassFollower {
public:
    void begin() { coming_ = {}; }

    /// Examples that begin to be known with this batch: it and what comes behind it; empty where it goes on with those.
    std::span<const std::uint32_t> announced_by(const RowBatch& batch) {
        const std::span<const std::uint32_t> known = coming_;
        coming_ = batch.coming;
        const std::size_t size = batch.examples.size() + batch.coming.size();
        if (batch.examples.data() == known.data() && size == known.size()) return {};
        return {batch.examples.data(), size};
    }

private:
    std::span<const std::uint32_t> coming_;
};

/// A model's quality on examples that it was not trained on.
class Evaluation {
public:
    Evaluation() = default;
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;
    virtual ~Evaluation() = default;

    /// The model, [P], that the following passes are under; it stays as it is until the last of them, and nobody trains meanwhile.
    virtual void begin(aggregation::ConstParamSpan model) = 0;

    /// One forward pass over these of the examples, at least one.
    virtual EvaluationResult evaluate(const ExamplesView& from, std::span<const std::uint32_t> indices) = 0;

    /// Both, over examples [first, first + count).
    EvaluationResult evaluate_range(aggregation::ConstParamSpan model, const ExamplesView& from, std::uint64_t first,
                                    std::uint64_t count) {
        std::vector<std::uint32_t> indices(count);
        std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
        begin(model);
        return evaluate(from, indices);
    }
};

}  // namespace fedhive::clients
