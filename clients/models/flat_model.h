// A LibTorch module whose tensors are views of one flat vector of parameters, and whose gradients are views of one flat gradient, so that
// pulling down, stepping and sending up are one pass over [P] each.
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

private:
    torch::Device device_;
    std::shared_ptr<Classifier> module_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer parameters_;
    aggregation::ParamBuffer gradient_;
};

}  // namespace fedhive::clients
