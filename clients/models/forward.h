// The forward pass of each kind of layer by LibTorch, for one client and, where the tensors are batched by vmap (batched_model.h), for many.
#pragma once

#include "clients/models/layer_kind.h"
#include "clients/models/tensor.h"

#include <functional>
#include <span>
#include <string_view>

namespace fedhive::clients {

/// parameters: the layer's, in the order of LayerFit; x: [B, shape…], of tokens [B, tokens, 1, 1]; dropout acts in training.
using Forward = std::function<at::Tensor(std::span<const at::Tensor> parameters, const at::Tensor& x, bool training)>;

/// Of a layer of that kind with these arguments on what has that shape. Throws Fault for a kind that has none.
Forward make_forward(std::string_view kind, const Values& arguments, const Shape& in);

/// Draws a tensor as PyTorch does by default, from LibTorch's generator of the host.
void initialise(at::Tensor& tensor, const Parameter& parameter);

}  // namespace fedhive::clients
