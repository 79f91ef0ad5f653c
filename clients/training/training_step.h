// One local step, behind one interface: flat parameters and a batch in, updated parameters and loss out. LibTorch is the first way to do it
// (libtorch_step.h); what trains faster for some models is another implementation, and local_training.cpp does not change. A step has
// two halves, for modes in which the gradient goes elsewhere in between.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/protocol/task.h"
#include "clients/training/racy_model.h"

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace fedhive::clients {

/// What a client starts from.
struct ClientStart {
    aggregation::ConstParamSpan global;  // [P], unchanged until the client's last step, but where it is `shared`
    Objective objective;
    std::uint64_t dropout_seed = 0;               // everything random inside the model's forward pass
    aggregation::ConstParamSpan optimizer_state;  // to go on with, read by begin() only; empty: from 0
    RacyModel shared;  // Hogwild: every step reads this model and writes it in place; empty: the local one
};

class TrainingStep {
public:
    TrainingStep() = default;
    TrainingStep(const TrainingStep&) = delete;
    TrainingStep& operator=(const TrainingStep&) = delete;
    virtual ~TrainingStep() = default;

    /// The local model, [P]; the gradient that the next apply_gradient() follows, [trainable]; what the optimiser keeps, [vectors of it][trainable],
    /// empty where that is nothing. All in one memory space. Between the halves of a step the gradient may be changed.
    virtual aggregation::ParamSpan parameters() = 0;
    virtual aggregation::ParamSpan gradient() = 0;
    virtual aggregation::ParamSpan optimizer_state() = 0;

    /// Local model = global model; the optimiser as the start says; a random stream of the client's own; loss sum 0.
    virtual void begin(const ClientStart& start) = 0;

    /// The batches that follow are consecutive parts of `order`, which stays as it is until the last of them. Whoever never says so may take any.
    virtual void begin_epoch([[maybe_unused]] std::span<const std::uint32_t> order) {}

    /// Forward, backward, objective on one batch of training examples, at least one index. No parameter changes, but that the local model
    /// becomes the shared one where there is one.
    virtual void compute_gradient(std::span<const std::uint32_t> batch) = 0;

    /// One step of the optimiser, on the local model or on the shared one.
    virtual void apply_gradient() = 0;

    /// Both halves, with the bits of one after the other. Afterwards gradient() may hold anything.
    virtual void step(std::span<const std::uint32_t> batch) {
        compute_gradient(batch);
        apply_gradient();
    }

    /// Sum over compute_gradient() since begin() of (mean loss of the batch) * (its size). Waits for the device.
    virtual double loss_sum() = 0;

    /// The same without waiting, to be read after aggregation::synchronize(); on a device, `to` lies in memory that it can write.
    virtual void loss_sum_into(double& to) { to = loss_sum(); }

    /// Seconds in which the host has gathered batches, since the step was made; 0 where a device does it.
    virtual double gather_s() const { return 0.0; }
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
