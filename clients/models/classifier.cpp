#include "clients/models/classifier.h"

#include "clients/exported/network.h"
#include "clients/models/relu_max_pool.h"

#include <ATen/ops/empty.h>

namespace fedhive::clients {

namespace {

/// The two that relu_max_pool() does, in either order.
bool are_relu_max_pool(const PlannedLayer& one, const PlannedLayer& next) {
    const auto halves = [](const PlannedLayer& layer) {
        return layer.kind->name == "max_pool" && layer.arguments.integer("size") == 2;
    };
    const auto is_relu = [](const PlannedLayer& layer) { return layer.kind->name == "relu"; };
    return (is_relu(one) && halves(next)) || (halves(one) && is_relu(next));
}

std::vector<Operation> operations_of(const std::vector<PlannedLayer>& layers, std::size_t first, std::size_t last) {
    std::vector<Operation> operations;
    for (std::size_t i = first; i < last; ++i) {
        const PlannedLayer& layer = layers[i];
        Operation operation;
        if (layer.kind->holds_layers) {
            operation.residual = operations_of(layer.residual, 0, layer.residual.size());
            operation.shortcut = operations_of(layer.shortcut, 0, layer.shortcut.size());
        } else if (i + 1 < last && are_relu_max_pool(layer, layers[i + 1])) {
            operation.forward = [](std::span<const at::Tensor>, const at::Tensor& x, bool) { return relu_max_pool(x); };
            ++i;
        } else {
            operation.forward = make_forward(layer.kind->name, layer.arguments, layer.in);
        }
        for (const Parameter& parameter : layer.fit.parameters)
            operation.tensors.push_back(at::empty(parameter.shape, at::kFloat).set_requires_grad(true));
        for (const Parameter& buffer : layer.fit.buffers) operation.tensors.push_back(at::empty(buffer.shape, at::kFloat));
        operations.push_back(std::move(operation));
    }
    return operations;
}

/// Those that have a gradient, or those that have none.
void collect(std::vector<Operation>& operations, bool with_gradient, std::vector<at::Tensor*>& tensors) {
    for (Operation& operation : operations) {
        for (at::Tensor& tensor : operation.tensors)
            if (tensor.requires_grad() == with_gradient) tensors.push_back(&tensor);
        collect(operation.residual, with_gradient, tensors);
        collect(operation.shortcut, with_gradient, tensors);
    }
}

}  // namespace

Classifier::Classifier(const ModelSpec& spec) {
    if (spec.exported.given()) {
        graph_ = std::make_unique<exported::Network>(exported::read_program(spec.exported), spec.input);
        tensors_ = graph_->tensors();
        return;
    }
    plan_ = plan_model(spec);
    std::vector<std::size_t> layers;  // of the plan: the first of each part that a cut does not divide
    for (std::size_t i = 0; i < plan_.size(); ++i)
        if (plan_[i].has_parameters()) layers.push_back(layers.empty() ? 0 : i);
    FEDHIVE_CHECK(!layers.empty(), "a model without parameters");
    layers.push_back(plan_.size());
    for (std::size_t part = 0; part + 1 < layers.size(); ++part) {
        begins_.push_back(operations_.size());
        for (Operation& operation : operations_of(plan_, layers[part], layers[part + 1]))
            operations_.push_back(std::move(operation));
        shapes_.push_back(plan_[layers[part + 1] - 1].fit.out);
    }
    begins_.push_back(operations_.size());
    for (const bool with_gradient : {true, false}) collect(operations_, with_gradient, tensors_);
}

Classifier::~Classifier() = default;

at::Tensor Classifier::forward(const at::Tensor& examples) const {
    return graph_ ? graph_->forward(examples, training_) : forward_layers(examples, 0, num_layers());
}

at::Tensor Classifier::run(const Operation& operation, const at::Tensor& x) const {
    if (operation.forward) return operation.forward(operation.tensors, x, training_);
    at::Tensor inner = x, beside = x;
    for (const Operation& each : operation.residual) inner = run(each, inner);
    for (const Operation& each : operation.shortcut) beside = run(each, beside);
    return inner.add(beside);
}

at::Tensor Classifier::forward_layers(at::Tensor x, std::size_t first, std::size_t last) const {
    for (std::size_t i = begins_[first]; i < begins_[last]; ++i) x = run(operations_[i], x);
    return x;
}

void Classifier::initialise() {
    if (graph_) return;
    auto place = tensors_.begin();
    for_each_tensor(plan_, [&](const std::string&, const Parameter& tensor) { clients::initialise(**place++, tensor); });
}

}  // namespace fedhive::clients
