// relu(max_pool2d(x, 2)), which equals max_pool2d(relu(x), 2), in one pass. LibTorch's own pool on the CPU is a scalar loop, which takes a
// sixth of a small CNN's step.
#pragma once

#include "clients/models/tensor.h"

namespace fedhive::clients {

/// Shapes   x: [B, channels, height, width]; returns [B, channels, height / 2, width / 2].
/// Order    the same values and gradients, bit by bit, as at::relu(at::max_pool2d(x, 2)): of equal values the
///          first wins, a NaN wins over all numbers.
/// Memory   one byte per output value, kept for the gradient, instead of LibTorch's eight.
/// Differs  tensors that are not f32, not contiguous, of odd height or width, on another
///          device or under a transform use LibTorch.
at::Tensor relu_max_pool(const at::Tensor& x);

}  // namespace fedhive::clients
