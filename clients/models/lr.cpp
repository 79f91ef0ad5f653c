// Multinomial logistic regression: one linear layer on the flattened example (784 -> 10 on MNIST: 7,850 parameters).
#include "clients/models/classifier.h"
#include "clients/models/layers.h"

namespace fedhive::clients {

namespace {

struct Lr final : Classifier {
    explicit Lr(const ModelSpec& spec)
        : linear(register_module("linear",
                                 torch::nn::Linear(static_cast<std::int64_t>(spec.input.num_values()), spec.num_classes))) {}

    torch::Tensor forward_layer(std::size_t /*layer*/, const torch::Tensor& x) override {
        return forward_linear(linear, x.flatten(1));
    }

    torch::nn::Linear linear;
};

}  // namespace

std::shared_ptr<Classifier> build_lr(const ModelSpec& spec) { return std::make_shared<Lr>(spec); }

}  // namespace fedhive::clients
