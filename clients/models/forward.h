// The forward pass of each kind of layer with LibTorch, for one client or, with tensors batched
// by vmap (batched_model.h), for many.
#pragma once

#include "clients/models/layer_kind.h"
#include "clients/models/tensor.h"

#include <functional>
#include <span>

namespace fedhive::clients {

/// parameters: the layer's, in the order of LayerFit; x: [B, shape…], or [B, tokens, 1, 1] for
/// tokens; dropout acts in training only.
using Forward = std::function<at::Tensor(std::span<const at::Tensor> parameters, const at::Tensor& x, bool training)>;

/// The forward pass of a layer of that kind and arguments, for inputs of shape `in`. Throws Fault for a kind without one.
Forward make_forward(LayerKind kind, const Values& arguments, const Shape& in);

/// Draws a tensor with PyTorch's default from LibTorch's host generator.
void initialise(at::Tensor& tensor, const Parameter& parameter);

}  // namespace fedhive::clients
