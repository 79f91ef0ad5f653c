// The small CNN of the PyTorch MNIST tutorials: conv5(1->10) pool relu, conv5(10->20) dropout2d pool relu, fc 320->50 relu dropout, 50->10;
// 21,840 parameters. The flattened size is fixed by 1 x 28 x 28 inputs.
#include "aggregation/base/error.h"
#include "clients/models/classifier.h"
#include "clients/models/layers.h"
#include "clients/models/relu_max_pool.h"

namespace fedhive::clients {

namespace {

struct MnistCnn final : Classifier {
    explicit MnistCnn(const ModelSpec& spec)
        : conv1(register_module("conv1", torch::nn::Conv2d(1, 10, 5))),
          conv2(register_module("conv2", torch::nn::Conv2d(10, 20, 5))),
          fc1(register_module("fc1", torch::nn::Linear(320, 50))),
          fc2(register_module("fc2", torch::nn::Linear(50, spec.num_classes))),
          dropout(spec.dropout) {}

    torch::Tensor forward_layer(std::size_t layer, const torch::Tensor& x) override {
        switch (layer) {
            case 0:
                return relu_max_pool(forward_conv2d(conv1, x));
            case 1: {
                torch::Tensor maps = forward_conv2d(conv2, x);
                if (dropout) maps = torch::feature_dropout(maps, 0.5, is_training());
                return relu_max_pool(maps).flatten(1);
            }
            case 2: {
                const torch::Tensor units = torch::relu(forward_linear(fc1, x));
                return dropout ? torch::dropout(units, 0.5, is_training()) : units;
            }
            default:
                return forward_linear(fc2, x);
        }
    }

    torch::nn::Conv2d conv1, conv2;
    torch::nn::Linear fc1, fc2;
    bool dropout;
};

}  // namespace

std::shared_ptr<Classifier> build_mnist_cnn(const ModelSpec& spec) {
    if (spec.input != ExampleShape{1, 28, 28})
        throw ConfigError(fmt::format(
            "mnist_cnn takes examples of 1 x 28 x 28, the data's are {} x {} x {}; for other shapes use cnn_m, mlp or lr",
            spec.input.channels, spec.input.height, spec.input.width));
    return std::make_shared<MnistCnn>(spec);
}

}  // namespace fedhive::clients
