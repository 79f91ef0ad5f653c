// Multinomial logistic regression: one linear layer on the flattened example (784 -> 10 on MNIST: 7,850 parameters).
#include "clients/models/classifier.h"

namespace fedhive::clients {

namespace {

struct Lr final : Classifier {
    explicit Lr(const ModelSpec& spec)
        : Classifier({linear("linear", static_cast<std::int64_t>(spec.input.num_values()), spec.num_classes)}) {}

    at::Tensor forward_layer(std::size_t layer, const at::Tensor& x) override { return layers()[layer].forward(x.flatten(1)); }
};

}  // namespace

std::unique_ptr<Classifier> build_lr(const ModelSpec& spec) { return std::make_unique<Lr>(spec); }

}  // namespace fedhive::clients
