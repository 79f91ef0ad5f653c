// relu(max_pool2d(x, 2)), which is max_pool2d(relu(x), 2), in one pass: on the CPU LibTorch's pool is a scalar loop that takes a sixth of a
// small CNN's step.
#pragma once

#include "clients/models/tensor.h"

namespace fedhive::clients {

/// Shapes   x: [B, channels, height, width]; returns [B, channels, height / 2, width / 2].
/// Order    the same values and gradients, bit by bit, as at::relu(at::max_pool2d(x, 2)): of equal values the first counts, a NaN
///          goes before all numbers.
/// Memory   a byte for each value returned, kept for the gradient, in place of LibTorch's eight.
/// Differs  what is not f32, not contiguous, of odd height or width, on another device or under a transform goes LibTorch's way.
at::Tensor relu_max_pool(const at::Tensor& x);

}  // namespace fedhive::clients
