// The layers with parameters that models are made of, each in two forms: LibTorch's own, and one for many clients at once, whose parameters
// are batched by vmap (batched_model.h). The second is not only faster: conv2d has no batching rule for its bias.
#pragma once

#include <ATen/functorch/BatchedTensorImpl.h>
#include <torch/torch.h>

#include <utility>

namespace fedhive::clients {

/// x: [B, inputs] → [B, outputs].
inline torch::Tensor forward_linear(torch::nn::Linear& layer, const torch::Tensor& x) {
    if (!at::functorch::isBatchedTensor(layer->weight)) return layer->forward(x);
    // (W x^T)^T, so that the weights' gradient comes out in the weights' own order and not transposed.
    return torch::matmul(layer->weight, x.t()).t() + layer->bias;
}

/// x: [B, channels, height, width].
inline torch::Tensor forward_conv2d(torch::nn::Conv2d& layer, const torch::Tensor& x) {
    if (!at::functorch::isBatchedTensor(layer->weight)) return layer->forward(x);
    const torch::Tensor bias = std::exchange(layer->bias, {});
    const torch::Tensor maps = layer->forward(x);
    layer->bias = bias;
    return maps + bias.view({-1, 1, 1});
}

}  // namespace fedhive::clients
