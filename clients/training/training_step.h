// One local step, behind one interface: flat parameters and a batch in, updated parameters and loss out. LibTorch is the first way to do it
// (libtorch_step.h); what trains faster for some models is another implementation, and local_training.cpp does not change.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/protocol/task.h"

#include <cstdint>
#include <span>

namespace fedhive::clients {

/// What a client starts from.
struct ClientStart {
    aggregation::ConstParamSpan global;  // [P], unchanged until the client's last step
    Objective objective;
    std::uint64_t dropout_seed = 0;  // everything random inside the model's forward pass
};

class TrainingStep {
public:
    TrainingStep() = default;
    TrainingStep(const TrainingStep&) = delete;
    TrainingStep& operator=(const TrainingStep&) = delete;
    virtual ~TrainingStep() = default;

    /// The local model, [P].
    virtual aggregation::ParamSpan parameters() = 0;

    /// Local model = global model; a fresh optimiser; a random stream of the client's own; loss sum 0.
    virtual void begin(const ClientStart& start) = 0;

    /// Forward, backward, objective, optimiser on one batch of training examples; at least one index.
    virtual void step(std::span<const std::uint32_t> batch) = 0;

    /// Sum over steps since begin() of (mean loss of the batch) * (its size). Waits for the device.
    virtual double loss_sum() = 0;
};

/// The model's quality on test examples.
class Evaluation {
public:
    Evaluation() = default;
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;
    virtual ~Evaluation() = default;

    /// One forward pass over test examples [first, first + count) under `global`.
    virtual EvaluationResult evaluate(aggregation::ConstParamSpan global, std::uint64_t first, std::uint64_t count) = 0;
};

}  // namespace fedhive::clients
