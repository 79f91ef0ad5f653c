#include "clients/models/layers.h"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <cmath>
#include <utility>

namespace fedhive::clients {

namespace {

at::Tensor parameter(at::IntArrayRef shape) { return at::empty(shape, at::kFloat).set_requires_grad(true); }

}  // namespace

Layer linear(std::string name, std::int64_t inputs, std::int64_t outputs) {
    return {std::move(name), parameter({outputs, inputs}), parameter({outputs})};
}

Layer conv2d(std::string name, std::int64_t inputs, std::int64_t outputs, std::int64_t side) {
    return {std::move(name), parameter({outputs, inputs, side, side}), parameter({outputs})};
}

at::Tensor Layer::forward(const at::Tensor& x) const {
    const bool batched = at::functorch::isBatchedTensor(weight);
    if (weight.dim() == 2)
        // Batched: (W x^T)^T, so that the weights' gradient comes out in the weights' own order and not transposed.
        return batched ? at::matmul(weight, x.t()).t().add(bias) : at::addmm(bias, x, weight.t());
    // conv2d has no batching rule for its bias.
    return batched ? at::conv2d(x, weight).add(bias.view({-1, 1, 1})) : at::conv2d(x, weight, bias);
}

void Layer::initialise() {
    const at::NoGradGuard no_grad;
    const auto fan_in = static_cast<double>(weight.numel() / weight.size(0));
    // Kaiming's rule for a leaky ReLU of slope sqrt(5), as torch.nn writes it: its last bits are not those of the bias's bound.
    const double slope = std::sqrt(5.0);
    const double bound = std::sqrt(3.0) * (std::sqrt(2.0 / (1.0 + std::pow(slope, 2))) / std::sqrt(fan_in));
    weight.uniform_(-bound, bound);
    bias.uniform_(-1.0 / std::sqrt(fan_in), 1.0 / std::sqrt(fan_in));
}

}  // namespace fedhive::clients
