// A LibTorch module whose tensors are views of one flat vector of parameters, and whose gradients are brought into one flat gradient, so
// that pulling down, stepping and sending up are one pass over [P] each.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/classifier.h"

namespace fedhive::clients {

/// The layout of a module's parameters, then its floating-point buffers, in the order of registration. Throws Fault for a tensor that is not
/// f32 (an integer buffer cannot be averaged).
aggregation::Layout layout_of(torch::nn::Module& module);

/// Copies the module's tensors into a host span.
void store_tensors(torch::nn::Module& module, const aggregation::Layout& layout, aggregation::ParamSpan to);

class FlatModel {
public:
    /// Memory: two buffers of [P] on the device, held for life.
    FlatModel(const ModelSpec& spec, aggregation::MemorySpace space);

    const aggregation::Layout& layout() const { return layout_; }
    aggregation::ParamSpan parameters() const { return parameters_; }                                       // [P]
    aggregation::ParamSpan trainable() const { return parameters_.span().first(layout_.num_trainable()); }  // a prefix of it
    aggregation::ParamSpan gradient() const { return gradient_; }                                           // [trainable]
    Classifier& module() const { return *module_; }
    torch::Device device() const { return device_; }

    /// After backward(): what it left at each tensor goes into gradient(), and the tensors have none again; zero for a tensor that the loss
    /// does not depend on. Cheaper than gradients that are views: those would have to be zeroed, read and written once more.
    void collect_gradient();

    /// Forgets what a backward() left that did not get to collect_gradient(); the next one would add to it.
    void drop_gradient();

private:
    torch::Device device_;
    std::shared_ptr<Classifier> module_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer parameters_;
    aggregation::ParamBuffer gradient_;
    std::vector<torch::Tensor> tensors_;  // the trainable ones, in layout order
};

}  // namespace fedhive::clients
