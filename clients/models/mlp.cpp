// Two hidden layers with ReLU; with 200 units each it is the "2NN" of McMahan et al. 2017 (arXiv:1602.05629), 199,210 parameters on MNIST.
#include "clients/models/classifier.h"
#include "clients/models/layers.h"

namespace fedhive::clients {

namespace {

struct Mlp final : Classifier {
    explicit Mlp(const ModelSpec& spec)
        : fc1(register_module("fc1", torch::nn::Linear(static_cast<std::int64_t>(spec.input.num_values()), spec.hidden))),
          fc2(register_module("fc2", torch::nn::Linear(spec.hidden, spec.hidden))),
          fc3(register_module("fc3", torch::nn::Linear(spec.hidden, spec.num_classes))) {}

    torch::Tensor forward_layer(std::size_t layer, const torch::Tensor& x) override {
        switch (layer) {
            case 0:
                return torch::relu(forward_linear(fc1, x.flatten(1)));
            case 1:
                return torch::relu(forward_linear(fc2, x));
            default:
                return forward_linear(fc3, x);
        }
    }

    torch::nn::Linear fc1, fc2, fc3;
};

}  // namespace

std::shared_ptr<Classifier> build_mlp(const ModelSpec& spec) { return std::make_shared<Mlp>(spec); }

}  // namespace fedhive::clients
