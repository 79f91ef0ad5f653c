// The CNN of McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data"
// (arXiv:1602.05629), section 3: conv5(c->32) pool, conv5(32->64) pool, fc ->512 relu, 512->classes, the convolutions padded by
// 2 so that they keep an image's size. 1,663,370 parameters on MNIST, as the paper counts.
//
// Differs   a ReLU after each convolution; the paper mentions none.
#include "clients/models/named/smallest_image.h"

namespace fedhive::clients {

namespace {

LayerList mcmahan_cnn_layers(const Values&) {
    LayerList layers;
    layers.add("conv2d", {32, 5, 1, 2}, "conv1").add("relu").add("max_pool", {2});
    layers.add("conv2d", {64, 5, 1, 2}, "conv2").add("relu").add("max_pool", {2});
    return layers.add("flatten").add("linear", {512}, "fc1").add("relu").add("linear", {}, "fc2");
}

}  // namespace

NamedModel mcmahan_cnn_model() {
    return {.name = "mcmahan_cnn",
            .summary = "the CNN of the FedAvg paper, for images of at least 4 x 4",
            .source = "arXiv:1602.05629",
            .keys = {},
            .layers = mcmahan_cnn_layers,
            .misfit = [](const ExampleShape& input) { return below("mcmahan_cnn", 4, input); }};
}

}  // namespace fedhive::clients
