// Two hidden layers with ReLU; with 200 units each it is the "2NN" of McMahan et al. 2017 (arXiv:1602.05629), 199,210 parameters on MNIST.
#include "clients/models/classifier.h"

namespace fedhive::clients {

namespace {

struct Mlp final : Classifier {
    explicit Mlp(const ModelSpec& spec)
        : Classifier({linear("fc1", static_cast<std::int64_t>(spec.input.num_values()), spec.hidden),
                      linear("fc2", spec.hidden, spec.hidden), linear("fc3", spec.hidden, spec.num_classes)}) {}

    at::Tensor forward_layer(std::size_t layer, const at::Tensor& x) override {
        const at::Tensor units = layers()[layer].forward(layer == 0 ? x.flatten(1) : x);
        return layer + 1 < layers().size() ? units.relu() : units;
    }
};

}  // namespace

std::unique_ptr<Classifier> build_mlp(const ModelSpec& spec) { return std::make_unique<Mlp>(spec); }

}  // namespace fedhive::clients
