#include "clients/models/flat_model.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <ATen/Context.h>

#include <algorithm>
#include <mutex>

namespace fedhive::clients {

using aggregation::Layout;
using aggregation::LayoutEntry;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using aggregation::TensorKind;

namespace {

/// A tensor over the entry's part of the span; the span must outlive it.
at::Tensor view_of(const LayoutEntry& entry, ParamSpan span, at::Device device) {
    return at::from_blob(span.data + entry.offset, entry.shape, at::TensorOptions().dtype(at::kFloat).device(device));
}

}  // namespace

void store_parameters(const Classifier& model, const Layout& layout, ParamSpan to) {
    FEDHIVE_CHECK_EQ(to.size, layout.num_floats());
    FEDHIVE_CHECK_EQ(model.tensors().size(), layout.entries().size());
    const at::NoGradGuard no_grad;
    std::size_t index = 0;
    for (const at::Tensor* tensor : model.tensors()) view_of(layout.entries()[index++], to, at::kCPU).copy_(*tensor);
}

void draw_with_libtorch(const ModelSpec& spec, const Layout& layout, std::uint64_t seed, ParamSpan to) {
    Classifier model(spec);
    {
        at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
        const std::lock_guard lock(generator.mutex());
        generator.set_current_seed(seed);
    }
    model.initialise();
    store_parameters(model, layout, to);
}

FlatModel::FlatModel(const ModelSpec& spec, MemorySpace space, aggregation::ConstParamSpan frozen)
    : device_(space == MemorySpace::Host ? at::Device(at::kCPU) : at::Device(at::kCUDA, 0)),
      module_(std::make_unique<Classifier>(spec)),
      layout_(model_layout(spec)),
      parameters_(layout_.num_floats(), space) {
    FEDHIVE_CHECK_EQ(module_->tensors().size(), layout_.entries().size());
    for (std::size_t i = 0; i < layout_.entries().size(); ++i) {
        at::Tensor& tensor = *module_->tensors()[i];
        tensor.set_data(view_of(layout_.entries()[i], parameters_, device_));
        if (tensor.requires_grad()) tensors_.push_back(tensor);
    }
    module_->view_frozen(frozen);
}

ParamSpan FlatModel::part(ParamSpan whole, std::size_t tensor) const {
    const LayoutEntry& entry = layout_.entries()[tensor];
    return {whole.data + entry.offset, entry.size, whole.space};
}

/// The gradient of one tensor, valid until it is dropped; empty if there is none.
aggregation::ConstParamSpan FlatModel::gradient_at(std::size_t tensor) {
    at::Tensor& gradient = tensors_[tensor].mutable_grad();
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

void FlatModel::descend(aggregation::ClientOptimizer& optimizer) {
    const bool all_there =
        std::all_of(tensors_.begin(), tensors_.end(), [](const auto& tensor) { return tensor.grad().defined(); });
    if (!taken_ || !all_there) return optimizer.step(trainable(), gradient());
    for (std::size_t i = 0; i < tensors_.size(); ++i)
        optimizer.step(part(parameters_, i), gradient_at(i), layout_.entries()[i].offset);
    drop_gradient();
}

void FlatModel::drop_gradient() {
    for (at::Tensor& tensor : tensors_) tensor.mutable_grad().reset();
    taken_ = false;
}

}  // namespace fedhive::clients
