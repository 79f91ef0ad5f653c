// A model whose tensors are views of one flat vector of parameters, so that pulling down, stepping and sending up are one pass over
// [P] each. Gradients stay where backward() makes them, and are brought into one flat vector for those who need it so.
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

/// torch.nn's default initialisation after torch.manual_seed(seed), of a list of layers without frozen ones, into a host span of
/// layout.num_floats().
void draw_with_libtorch(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to);

class FlatModel {
public:
    /// `frozen`, [F], must outlive the model.
    /// Memory: a buffer of [P] on the device, held for life, and one more from the first gradient() on.
    FlatModel(const ModelSpec& spec, aggregation::MemorySpace space, aggregation::ConstParamSpan frozen = {});

    const aggregation::Layout& layout() const { return layout_; }
    aggregation::ParamSpan parameters() const { return parameters_; }                                       // [P]
    aggregation::ParamSpan trainable() const { return parameters_.span().first(layout_.num_trainable()); }  // a prefix of it

    /// The gradient in one piece, [trainable]: a buffer that is filled, and the first time made, when it is asked for.
    aggregation::ParamSpan gradient();

    Classifier& module() const { return *module_; }
    at::Device device() const { return device_; }

    /// After backward(): what it left at each tensor is the gradient from now on; zero for a tensor that the loss does not depend on.
    void take_gradient() { taken_ = true; }

    /// One step along it, tensor by tensor where nobody has asked for it in one piece.
    void descend(aggregation::ClientOptimizer& optimizer);

    /// Forgets what a backward() left; the next one would add to it.
    void drop_gradient();

private:
    aggregation::ConstParamSpan gradient_at(std::size_t tensor);
    aggregation::ParamSpan part(aggregation::ParamSpan whole, std::size_t tensor) const;

    at::Device device_;
    std::unique_ptr<Classifier> module_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer parameters_;
    aggregation::ParamBuffer gradient_;  // empty before somebody asks
    bool taken_ = false;                 // the gradient is still at the tensors
    std::vector<at::Tensor> tensors_;    // the parameters, without buffers, in layout order
};

}  // namespace fedhive::clients
