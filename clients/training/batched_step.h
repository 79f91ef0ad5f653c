// One local step of many clients at once, behind one interface, as training_step.h is for one: K rows of parameters and a batch for each in,
// updated rows and losses out. LibTorch's vmap is the first way to do it (libtorch_batched_step.h).
//
//   row      place of a client among those trained at once. It belongs to the client as long as they train, so that nobody's arithmetic
//            depends on what becomes of the others.
//   rest     a row whose batch is empty takes no part in a step: its parameters, momentum and loss stay as they are.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/data/looks.h"
#include "clients/protocol/task.h"

#include <cstdint>
#include <span>

namespace fedhive::clients {

/// What the clients start from.
struct BatchedStart {
    std::size_t rows = 1;                // clients, at most num_rows()
    aggregation::ConstParamSpan global;  // [P], unchanged until the last step
    Objective objective;
    std::uint64_t dropout_seed = 0;  // everything random inside the model's forward pass, of all rows
};

/// Examples of one row, and by what they are seen where the data set is augmented.
struct RowBatch {
    std::span<const std::uint32_t> examples;
    LookKey look = {};
};

class BatchedStep {
public:
    BatchedStep() = default;
    BatchedStep(const BatchedStep&) = delete;
    BatchedStep& operator=(const BatchedStep&) = delete;
    virtual ~BatchedStep() = default;

    /// The most clients at once (K).
    virtual std::size_t num_rows() const = 0;

    /// A row's local model, [P].
    virtual aggregation::ParamSpan parameters(std::size_t row) = 0;

    /// Local models = global model, momentum 0, losses 0, one random stream for all rows.
    virtual void begin(const BatchedStart& start) = 0;

    /// Forward, backward, objective: one batch for each row of the start, at least one of them not empty. No parameter changes.
    ///
    /// Order    what a row computes depends on its place, on its own values and on the shape of the step (rows up to the last one that is not
    ///          at rest and the largest batch, or more where a step is padded), not on the other rows' values.
    virtual void compute_gradients(std::span<const RowBatch> batches) = 0;

    /// One step of the optimiser in each row that had a batch.
    virtual void apply_gradients() = 0;

    void step(std::span<const RowBatch> batches) {
        compute_gradients(batches);
        apply_gradients();
    }

    /// For each row: sum over compute_gradients() since begin() of (mean loss of its batch) * (its size). Waits for the device.
    virtual void loss_sums(std::span<double> sums) = 0;

    /// Seconds in which the host has gathered batches, since the step was made; 0 where a device does it.
    virtual double gather_s() const { return 0.0; }
};

}  // namespace fedhive::clients
