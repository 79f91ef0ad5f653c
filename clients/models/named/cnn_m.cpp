// A CNN of a million parameters: conv3(c->32) relu, conv3(32->64) relu, pool, dropout .25, fc ->128 relu, dropout .5,
// 128->classes. 1,199,882 parameters on MNIST shapes (fc 9216->128), 1,626,442 on CIFAR shapes (fc 12544->128).
#include "clients/models/named/dropout_key.h"
#include "clients/models/named/smallest_image.h"

namespace fedhive::clients {

namespace {

LayerList cnn_m_layers(const Values& values) {
    const bool dropout = values.flag("dropout");
    LayerList layers;
    layers.add("conv2d", {32, 3}, "conv1").add("relu");
    layers.add("conv2d", {64, 3}, "conv2").add("relu").add("max_pool", {2});
    if (dropout) layers.add("dropout", {0.25F});
    layers.add("flatten").add("linear", {128}, "fc1").add("relu");
    if (dropout) layers.add("dropout", {0.5F});
    return layers.add("linear", {}, "fc2");
}

}  // namespace

NamedModel cnn_m_model() {
    return {.name = "cnn_m",
            .summary = "a CNN with a million parameters, for images of any size",
            .source = "PyTorch's newer MNIST example",
            .keys = {dropout_key()},
            .layers = cnn_m_layers,
            .misfit = [](const ExampleShape& input) { return below("cnn_m", 6, input); }};
}

}  // namespace fedhive::clients
