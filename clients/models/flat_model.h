// A model whose tensors are views of one flat vector of P floats, so that receiving, stepping and sending are one pass over it each.
// Gradients stay in the tensors that backward() creates; gradient() copies them into one flat vector on request.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/classifier.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

/// Copies the model's parameters into a host span.
void store_parameters(const Classifier& model, const aggregation::Layout& layout, aggregation::ParamSpan to);

/// Writes torch.nn's default initialisation after torch.manual_seed(seed) into `to`, a host span of layout.num_floats(). Only
/// for a list of layers without frozen tensors.
void draw_with_libtorch(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to);

class FlatModel {
public:
    /// frozen: the frozen parameters, which must outlive the model.
    /// Memory: P floats on the device for the model's lifetime, and the trainable ones once more from the first gradient() on.
    FlatModel(const ModelSpec& spec, aggregation::MemorySpace space, aggregation::ConstParamSpan frozen = {});

    const aggregation::Layout& layout() const { return layout_; }
    aggregation::ParamSpan parameters() const { return parameters_; }                                       // [P]
    aggregation::ParamSpan trainable() const { return parameters_.span().first(layout_.num_trainable()); }  // a prefix of it

    /// The gradient as one vector, [trainable], copied into a buffer that the first call allocates.
    aggregation::ParamSpan gradient();

    Classifier& module() const { return *module_; }
    at::Device device() const { return device_; }

    /// To be called after backward(): takes the tensors' gradients as the model's; zero for a tensor that the loss does not depend on.
    void take_gradient() { taken_ = true; }

    /// One optimiser step along the gradient; tensor by tensor, without a copy, if gradient() was not called.
    void descend(aggregation::ClientOptimizer& optimizer);

    /// Clears the tensors' gradients; otherwise the next backward() would add to them.
    void drop_gradient();

private:
    aggregation::ConstParamSpan gradient_at(std::size_t tensor);
    aggregation::ParamSpan part(aggregation::ParamSpan whole, std::size_t tensor) const;

    at::Device device_;
    std::unique_ptr<Classifier> module_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer parameters_;
    aggregation::ParamBuffer gradient_;  // empty before the first gradient()
    bool taken_ = false;                 // the gradient is stored at the tensors
    std::vector<at::Tensor> tensors_;    // the parameters, without buffers, in layout order
};

}  // namespace fedhive::clients
