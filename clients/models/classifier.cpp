#include "clients/models/classifier.h"

#include "clients/exported/graph_network.h"
#include "clients/models/relu_max_pool.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

/// Whether relu_max_pool() can replace the two layers: a ReLU and a 2 x 2 max pool in either order.
bool are_relu_max_pool(const PlannedLayer& one, const PlannedLayer& next) {
    const auto halves = [](const PlannedLayer& layer) {
        return layer.kind == LayerKind::MaxPool && layer.arguments.integer("size") == 2 && windows_of(layer.arguments).abut();
    };
    const auto is_relu = [](const PlannedLayer& layer) { return layer.kind == LayerKind::Relu; };
    return (is_relu(one) && halves(next)) || (halves(one) && is_relu(next));
}

std::vector<Operation> operations_of(const std::vector<PlannedLayer>& layers, std::size_t first, std::size_t last) {
    std::vector<Operation> operations;
    for (std::size_t i = first; i < last; ++i) {
        const PlannedLayer& layer = layers[i];
        Operation operation;
        if (layer.spec().holds_layers) {
            operation.residual = operations_of(layer.residual, 0, layer.residual.size());
            operation.shortcut = operations_of(layer.shortcut, 0, layer.shortcut.size());
        } else if (i + 1 < last && are_relu_max_pool(layer, layers[i + 1])) {
            operation.forward = [](std::span<const at::Tensor>, const at::Tensor& x, bool) { return relu_max_pool(x); };
            ++i;
        } else {
            operation.forward = make_forward(layer.kind, layer.arguments, layer.in);
        }
        for (const Parameter& parameter : layer.fit.parameters) {
            operation.holds.push_back(parameter.frozen ? Holding::Frozen : Holding::Trained);
            operation.tensors.push_back(parameter.frozen ? at::Tensor()
                                                         : at::empty(parameter.shape, at::kFloat).set_requires_grad(true));
        }
        for (const Parameter& buffer : layer.fit.buffers) {
            operation.holds.push_back(Holding::Buffer);
            operation.tensors.push_back(at::empty(buffer.shape, at::kFloat));
        }
        operations.push_back(std::move(operation));
    }
    return operations;
}

bool trains(const Operation& operation) {
    return std::ranges::find(operation.holds, Holding::Trained) != operation.holds.end();
}

/// Appends the tensors of role `wanted` from operations for which has(operation) is true.
template <typename Has>
void collect(std::vector<Operation>& operations, Holding wanted, std::vector<at::Tensor*>& tensors, Has has) {
    for (Operation& operation : operations) {
        for (std::size_t i = 0; i < operation.tensors.size(); ++i)
            if (operation.holds[i] == wanted && has(operation)) tensors.push_back(&operation.tensors[i]);
        collect(operation.residual, wanted, tensors, has);
        collect(operation.shortcut, wanted, tensors, has);
    }
}

/// The tensors called `names` in the order of the layout, which has the same names.
std::vector<at::Tensor*> in_order_of(const aggregation::Layout& layout, const std::vector<std::string>& names,
                                     const std::vector<at::Tensor*>& tensors) {
    FEDHIVE_CHECK_EQ(names.size(), tensors.size());
    FEDHIVE_CHECK_EQ(layout.entries().size(), tensors.size());
    std::vector<at::Tensor*> ordered;
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        const auto found = std::ranges::find(names, entry.name);
        FEDHIVE_CHECK(found != names.end(), "no layer has the file's tensor '{}'", entry.name);
        ordered.push_back(tensors[static_cast<std::size_t>(found - names.begin())]);
    }
    return ordered;
}

}  // namespace

Classifier::Classifier(const ModelSpec& spec) : frozen_layout_(frozen_layout(spec)) {
    if (spec.is_graph()) {
        graph_ = std::make_unique<exported::GraphNetwork>(program_of(spec), spec.input,
                                                          exported::GraphNetwork::FrozenValues::ToBeSet);
        tensors_ = graph_->tensors();
        frozen_ = graph_->frozen();
        return;
    }
    plan_ = plan_model(spec);
    std::vector<std::size_t> layers;  // index in plan_ of the first layer of each part that a cut does not divide
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
    const auto any = [](const Operation&) { return true; };
    collect(operations_, Holding::Trained, tensors_, any);
    collect(operations_, Holding::Buffer, tensors_, any);
    collect(operations_, Holding::Frozen, frozen_, any);
    if (spec.exported.given()) {  // a file may have its tensors in another order than its layers
        std::vector<std::string> trained, frozen;
        for_each_of(&LayerFit::parameters, plan_, [&](const std::string& name, const Parameter& tensor) {
            (tensor.frozen ? frozen : trained).push_back(name);
        });
        for_each_of(&LayerFit::buffers, plan_, [&](const std::string& name, const Parameter&) { trained.push_back(name); });
        tensors_ = in_order_of(model_layout(spec), trained, tensors_);
        frozen_ = in_order_of(frozen_layout_, frozen, frozen_);
    }
    collect(operations_, Holding::Frozen, frozen_beside_trained_, trains);
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

void Classifier::view_frozen(aggregation::ConstParamSpan values) {
    FEDHIVE_CHECK_EQ(values.size, frozen_layout_.num_floats());
    FEDHIVE_CHECK_EQ(frozen_.size(), frozen_layout_.entries().size());
    const at::Device device = values.space == aggregation::MemorySpace::Host ? at::Device(at::kCPU) : at::Device(at::kCUDA, 0);
    for (std::size_t i = 0; i < frozen_.size(); ++i) {
        const aggregation::LayoutEntry& entry = frozen_layout_.entries()[i];
        // const_cast: LibTorch has no read-only tensors, and nothing writes a tensor without gradient.
        *frozen_[i] = at::from_blob(const_cast<float*>(values.data) + entry.offset, entry.shape,
                                    at::TensorOptions().dtype(at::kFloat).device(device));
    }
}

void Classifier::initialise() {
    FEDHIVE_CHECK(!graph_ && frozen_.empty(), "a graph has its own values, and frozen parameters are stored elsewhere");
    auto place = tensors_.begin();
    for_each_tensor(plan_, [&](const std::string&, const Parameter& tensor) { clients::initialise(**place++, tensor); });
}

}  // namespace fedhive::clients
