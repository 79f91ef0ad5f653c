// The layers with parameters that models are made of. Each serves one client and, where its parameters are batched by vmap
// (batched_model.h), many.
#pragma once

#include "clients/models/tensor.h"

#include <cstdint>
#include <string>

namespace fedhive::clients {

/// Fully connected or a convolution, as its weight says; what follows up to the next layer is the model's (classifier.h).
struct Layer {
    std::string name;
    at::Tensor weight;  // linear: [outputs, inputs]; convolution: [outputs, inputs, side, side]
    at::Tensor bias;    // [outputs]

    /// linear: x [B, inputs] → [B, outputs]. Convolution, no padding, stride 1: [B, inputs, h, w] → [B, outputs, h - side + 1, w - side + 1].
    at::Tensor forward(const at::Tensor& x) const;

    /// PyTorch's default: weights, then biases, uniform within 1 / sqrt(inputs of an output), from LibTorch's generator of the host.
    void initialise();
};

/// Their tensors hold anything before initialise().
Layer linear(std::string name, std::int64_t inputs, std::int64_t outputs);
Layer conv2d(std::string name, std::int64_t inputs, std::int64_t outputs, std::int64_t side);

}  // namespace fedhive::clients
