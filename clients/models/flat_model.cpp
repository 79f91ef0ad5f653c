#include "clients/models/flat_model.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::Layout;
using aggregation::LayoutEntry;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using aggregation::TensorKind;

namespace {

/// The module's tensors in layout order.
std::vector<std::pair<std::string, torch::Tensor>> tensors_of(torch::nn::Module& module, TensorKind kind) {
    std::vector<std::pair<std::string, torch::Tensor>> tensors;
    for (const auto& item : kind == TensorKind::Parameter ? module.named_parameters() : module.named_buffers())
        tensors.emplace_back(item.key(), item.value());
    return tensors;
}

/// A tensor over the entry's part of the span; the span must outlive it.
torch::Tensor view_of(const LayoutEntry& entry, ParamSpan span, torch::Device device) {
    return torch::from_blob(span.data + entry.offset, entry.shape,
                            torch::TensorOptions().dtype(torch::kFloat32).device(device));
}

}  // namespace

Layout layout_of(torch::nn::Module& module) {
    Layout layout;
    for (const TensorKind kind : {TensorKind::Parameter, TensorKind::Buffer}) {
        for (const auto& [name, tensor] : tensors_of(module, kind)) {
            if (tensor.scalar_type() != torch::kFloat32)
                throw Fault(fmt::format("tensor '{}' of the model is not f32 and cannot live in the arena", name));
            layout.add(name, tensor.sizes().vec(), kind);
        }
    }
    return layout;
}

void store_tensors(torch::nn::Module& module, const Layout& layout, ParamSpan to) {
    FEDHIVE_CHECK_EQ(to.size, layout.num_floats());
    const torch::NoGradGuard no_grad;
    std::size_t index = 0;
    for (const TensorKind kind : {TensorKind::Parameter, TensorKind::Buffer})
        for (const auto& item : tensors_of(module, kind))
            view_of(layout.entries()[index++], to, torch::kCPU).copy_(item.second);
}

FlatModel::FlatModel(const ModelSpec& spec, MemorySpace space)
    : device_(space == MemorySpace::Host ? torch::Device(torch::kCPU) : torch::Device(torch::kCUDA, 0)),
      module_(build_model(spec)),
      layout_(layout_of(*module_)),
      parameters_(layout_.num_floats(), space) {
    std::size_t index = 0;
    for (auto& item : module_->named_parameters()) {
        const LayoutEntry& entry = layout_.entries()[index++];
        item.value().set_data(view_of(entry, parameters_, device_));
        tensors_.push_back(item.value());
    }
    for (auto& item : module_->named_buffers())
        item.value().set_data(view_of(layout_.entries()[index++], parameters_, device_));
}

ParamSpan FlatModel::part(ParamSpan whole, std::size_t tensor) const {
    const LayoutEntry& entry = layout_.entries()[tensor];
    return {whole.data + entry.offset, entry.size, whole.space};
}

/// Valid until the tensor's gradient is dropped; empty where there is none.
aggregation::ConstParamSpan FlatModel::gradient_at(std::size_t tensor) {
    torch::Tensor& gradient = tensors_[tensor].mutable_grad();
    if (!gradient.defined()) return {};
    gradient = gradient.contiguous();
    return {gradient.const_data_ptr<float>(), layout_.entries()[tensor].size, parameters_.span().space};
}

ParamSpan FlatModel::gradient() {
    if (gradient_.span().size == 0) gradient_ = aggregation::ParamBuffer(layout_.num_trainable(), parameters_.span().space);
    if (!taken_) return gradient_;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const aggregation::ConstParamSpan values = gradient_at(i);
        if (values.size > 0)
            aggregation::copy(part(gradient_, i), values);
        else
            aggregation::set_zero(part(gradient_, i));
    }
    drop_gradient();
    return gradient_;
}

void FlatModel::descend(ParamSpan velocity, const aggregation::SgdOptions& optimizer) {
    const bool all_there =
        std::all_of(tensors_.begin(), tensors_.end(), [](const auto& tensor) { return tensor.grad().defined(); });
    if (!taken_ || !all_there) return aggregation::sgd_step(trainable(), gradient(), velocity, optimizer);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
        aggregation::sgd_step(part(parameters_, i), gradient_at(i), velocity.size > 0 ? part(velocity, i) : ParamSpan{},
                              optimizer);
    drop_gradient();
}

void FlatModel::drop_gradient() {
    for (torch::Tensor& tensor : tensors_) tensor.mutable_grad().reset();
    taken_ = false;
}

}  // namespace fedhive::clients
