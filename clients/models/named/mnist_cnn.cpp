// The small CNN of the PyTorch MNIST tutorials: conv5(1->10) pool relu, conv5(10->20) dropout2d pool relu, fc 320->50 relu
// dropout, 50->10; 21,840 parameters. For 1 x 28 x 28 inputs, as there.
#include "aggregation/base/error.h"
#include "clients/models/named/dropout_key.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerList mnist_cnn_layers(const Values& values) {
    const bool dropout = values.flag("dropout");
    LayerList layers;
    layers.add("conv2d", {10, 5}, "conv1").add("max_pool", {2}).add("relu");
    layers.add("conv2d", {20, 5}, "conv2");
    if (dropout) layers.add("dropout2d", {0.5F});
    layers.add("max_pool", {2}).add("relu").add("flatten");
    layers.add("linear", {50}, "fc1").add("relu");
    if (dropout) layers.add("dropout", {0.5F});
    return layers.add("linear", {}, "fc2");
}

std::string not_mnist(const ExampleShape& input) {
    if (input == ExampleShape{1, 28, 28}) return "";
    return fmt::format(
        "mnist_cnn takes examples of 1 x 28 x 28, but the data's are {} x {} x {}; for other shapes use cnn_m, mlp or lr",
        input.channels, input.height, input.width);
}

}  // namespace

NamedModel mnist_cnn_model() {
    return {.name = "mnist_cnn",
            .summary = "the PyTorch tutorials' small CNN, for 1 x 28 x 28",
            .source = "PyTorch's MNIST tutorials",
            .keys = {dropout_key()},
            .layers = mnist_cnn_layers,
            .misfit = not_mnist};
}

}  // namespace fedhive::clients
