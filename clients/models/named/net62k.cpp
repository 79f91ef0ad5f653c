// The network of PyTorch's CIFAR-10 tutorial ("Training a classifier"), there called Net: conv5(c->6) relu pool, conv5(6->16)
// relu pool, fc ->120 relu, 120->84 relu, 84->classes. 62,006 parameters on CIFAR-10, 44,426 on MNIST shapes.
#include "clients/models/named/smallest_image.h"

namespace fedhive::clients {

namespace {

LayerList net62k_layers(const Values&) {
    LayerList layers;
    layers.add("conv2d", {6, 5}, "conv1").add("relu").add("max_pool", {2});
    layers.add("conv2d", {16, 5}, "conv2").add("relu").add("max_pool", {2});
    layers.add("flatten").add("linear", {120}, "fc1").add("relu").add("linear", {84}, "fc2").add("relu");
    return layers.add("linear", {}, "fc3");
}

}  // namespace

NamedModel net62k_model() {
    return {.name = "net62k",
            .summary = "the network of PyTorch's CIFAR-10 tutorial, for images of at least 16 x 16",
            .source = "PyTorch's CIFAR-10 tutorial",
            .keys = {},
            .layers = net62k_layers,
            .misfit = [](const ExampleShape& input) { return below("net62k", 16, input); }};
}

}  // namespace fedhive::clients
