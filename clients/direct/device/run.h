// The work of one thread block (block_network.h): all local steps of a client, a batch's gradient, or an evaluation. A single thread on the
// host gives the same bits, as tests check. C++17.
//
// Source   McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, ClientUpdate.
#pragma once

#include "aggregation/formulas/run_element.h"
#include "clients/data/gather_element.h"
#include "clients/direct/device/layer_types.h"
#include "clients/tasks/losses/class_loss.h"
#include "clients/tasks/losses/squared_error.h"

namespace fedhive::clients::direct::device {

/// One local step: its range of the order of examples, and its dropout key.
struct BlockStep {
    std::uint32_t first = 0, size = 0;
    std::uint64_t dropout_key = 0;
};

/// The update rule of a local step: SGD (sgd_step of vector_ops.h).
struct BlockDescent {
    float lr = 0.0F, momentum = 0.0F, weight_decay = 0.0F;
    bool nesterov = false;
    // A method's formula for the gradient, before the update; null: none. It acts on these ranges of the parameters.
    const aggregation::formulas::GradientPass* formula = nullptr;
    const aggregation::formulas::ElementRange* ranges = nullptr;
    std::uint32_t num_ranges = 0;
};

/// A block's buffers, each in shared or device memory.
struct Workspace {
    float* parameters = nullptr;     // [P]: the local model
    float* gradient = nullptr;       // [trainable]
    float* velocity = nullptr;       // [trainable], with momentum
    float* values = nullptr;         // [group][row]
    RowOutcome* outcomes = nullptr;  // [group]
    std::uint32_t group = 1;         // capacity in rows
};

template <typename Threads>
FEDHIVE_HOST_DEVICE void copy(const Threads& threads, float* to, const float* from, std::uint32_t size) {
    for_each(threads, size, [&](std::uint32_t i) { to[i] = from[i]; });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void gather(const Threads& threads, const BlockNetwork& network, const element::GatherTerms& from,
                                std::uint32_t first, const RowGroup& group) {
    for_each_of_rows(threads, group, network.inputs, [&](float* values, std::uint32_t at, std::uint32_t row) {
        values[at] = element::gathered(from, first + row, at);
    });
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void forward(const Threads& threads, const BlockNetwork& network, const RowGroup& group,
                                 const float* parameters) {
    for (std::uint32_t l = 0; l < network.num_layers; ++l) {
        const Layer layer = network.layers[l];
        with_type_of(layer.kind, [&](auto type) { decltype(type)::forward(threads, layer, group, parameters); });
    }
}

/// Backward pass of a group. On entry, the gradient of the network's outputs is stored in their place.
template <typename Threads>
FEDHIVE_HOST_DEVICE void backward(const Threads& threads, const BlockNetwork& network, const RowGroup& group,
                                  const Gradients& to) {
    for (std::uint32_t l = network.num_layers; l-- > 0;) {
        const Layer layer = network.layers[l];
        with_type_of(layer.kind, [&](auto type) {
            decltype(type)::parameter_gradient(threads, layer, group, to);
            if (layer.in_at == 0) return;  // the data needs no gradient
            decltype(type)::input_gradient(threads, layer, group, to.parameters);
        });
    }
}

/// The loss of one example, and with `evaluated` its other outcomes; `scores` become their gradient times `weight`.
FEDHIVE_HOST_DEVICE RowOutcome row_outcome(float* scores, std::uint32_t classes, std::uint32_t label, float weight,
                                           const LossTerms& loss, bool evaluated) {
    RowOutcome row;
    if (evaluated) row.outcome = class_outcome(scores, classes, label);
    row.loss = class_loss(scores, classes, label, weight, loss);
    return row;
}

/// The squared error of one example; `answers` become their gradient times `weight`.
FEDHIVE_HOST_DEVICE RowOutcome row_outcome(float* answers, const float* numbers, std::uint32_t size, float weight) {
    const NumbersError error = squared_error(answers, numbers, size, weight);
    RowOutcome row;
    row.loss = error.squared;
    row.outcome.absolute = error.absolute;
    return row;
}

template <typename Threads>
FEDHIVE_HOST_DEVICE void find_outcomes(const Threads& threads, const BlockNetwork& network, const element::GatherTerms& from,
                                       std::uint32_t first, const RowGroup& group, float weight, const LossTerms& loss,
                                       RowOutcome* outcomes) {
    for_each(threads, group.rows, [&](std::uint32_t r) {
        const std::size_t example = from.order[first + r];
        float* const answers = group.values + static_cast<std::size_t>(r) * group.row + network.answers_at;
        if (from.numbers == nullptr)
            outcomes[r] = row_outcome(answers, network.outputs, static_cast<std::uint32_t>(from.labels[example]), weight, loss,
                                      !group.training);
        else
            outcomes[r] = row_outcome(answers, from.numbers + example * network.outputs, network.outputs, weight);
    });
}

/// The denominator of a batch's mean loss: its size, or the sum of its class weights.
FEDHIVE_HOST_DEVICE double shares_of(const BlockNetwork& network, const element::GatherTerms& from, const BlockStep& step) {
    if (network.loss.class_weights == nullptr) return step.size;
    double shares = 0.0;
    for (std::uint32_t i = 0; i < step.size; ++i)
        shares +=
            static_cast<double>(network.loss.share_of(static_cast<std::uint32_t>(from.labels[from.order[step.first + i]])));
    return shares;
}

/// Writes the gradient of a batch's mean loss, 0 in the layout's padding, and returns the mean loss. Batch norm moves its running
/// statistics in work.parameters.
template <typename Threads>
FEDHIVE_HOST_DEVICE double compute_gradient(const Threads& threads, const BlockNetwork& network, const Workspace& work,
                                            const element::GatherTerms& from, const BlockStep& step) {
    for_each(threads, network.trainable, [&](std::uint32_t i) { work.gradient[i] = 0.0F; });
    const double shares = shares_of(network, from, step);
    const auto weight = static_cast<float>(shares > 0.0 ? 1.0 / shares : 0.0);
    double loss = 0.0;
    for (std::uint32_t done = 0; done < step.size; done += work.group) {
        RowGroup group;
        group.values = work.values;
        group.row = network.row;
        group.rows = step.size - done < work.group ? step.size - done : work.group;
        group.first = done;
        group.dropout_key = step.dropout_key;
        group.moved = work.parameters;
        gather(threads, network, from, step.first + done, group);
        forward(threads, network, group, work.parameters);
        find_outcomes(threads, network, from, step.first + done, group, weight, network.loss, work.outcomes);
        for (std::uint32_t r = 0; r < group.rows; ++r) loss += work.outcomes[r].loss;  // every thread computes the same sum
        Gradients to;
        to.parameters = work.parameters;
        to.sums = work.gradient;
        backward(threads, network, group, to);
    }
    return shares > 0.0 ? loss / shares : 0.0;
}

/// g <- the formula, element by element.
template <typename Threads>
FEDHIVE_HOST_DEVICE void change_gradient(const Threads& threads, const Workspace& work, const BlockDescent& descent) {
    const aggregation::formulas::VectorsOfGradient vectors{*descent.formula, work.gradient, work.parameters};
    for (std::uint32_t r = 0; r < descent.num_ranges; ++r) {
        const aggregation::formulas::ElementRange range = descent.ranges[r];
        for_each(threads, static_cast<std::uint32_t>(range.width), [&](std::uint32_t i) {
            float registers[aggregation::formulas::kMostRegisters];
            aggregation::formulas::run_element(descent.formula->pass, vectors, registers, range.first + i);
        });
    }
}

/// One optimizer step.
template <typename Threads>
FEDHIVE_HOST_DEVICE void descend(const Threads& threads, const BlockNetwork& network, const Workspace& work,
                                 const BlockDescent& descent) {
    if (descent.formula != nullptr) change_gradient(threads, work, descent);
    for_each(threads, network.trainable, [&](std::uint32_t i) {
        const float gradient = work.gradient[i];
        float& parameter = work.parameters[i];
        if (descent.momentum == 0.0F)
            aggregation::element::sgd(parameter, gradient, descent.lr, descent.weight_decay);
        else
            aggregation::element::sgd_momentum(parameter, gradient, work.velocity[i], descent.lr, descent.momentum,
                                               descent.weight_decay, descent.nesterov);
    });
}

/// All local steps of a client, from the global model. Returns Σ over steps of mean loss · batch size.
template <typename Threads>
FEDHIVE_HOST_DEVICE double train(const Threads& threads, const BlockNetwork& network, const Workspace& work,
                                 const element::GatherTerms& from, const float* global, const BlockStep* steps,
                                 std::uint32_t num_steps, const BlockDescent& descent) {
    copy(threads, work.parameters, global, network.num_floats);
    if (descent.momentum != 0.0F) for_each(threads, network.trainable, [&](std::uint32_t i) { work.velocity[i] = 0.0F; });
    double loss = 0.0;
    for (std::uint32_t s = 0; s < num_steps; ++s) {
        const BlockStep step = steps[s];
        loss += compute_gradient(threads, network, work, from, step) * static_cast<double>(step.size);
        descend(threads, network, work, descent);
    }
    return loss;
}

/// Evaluates examples [first, first + rows) of the order, rows <= group, without dropout.
template <typename Threads>
FEDHIVE_HOST_DEVICE void evaluate(const Threads& threads, const BlockNetwork& network, const Workspace& work,
                                  const float* parameters, const element::GatherTerms& from, std::uint32_t first,
                                  std::uint32_t rows) {
    RowGroup group;
    group.values = work.values;
    group.row = network.row;
    group.rows = rows;
    group.training = false;
    gather(threads, network, from, first, group);
    forward(threads, network, group, parameters);
    find_outcomes(threads, network, from, first, group, 1.0F, LossTerms(), work.outcomes);
}

}  // namespace fedhive::clients::direct::device
