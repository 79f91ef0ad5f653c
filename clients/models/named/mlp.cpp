// Two hidden layers with ReLU; with 200 units each it is the "2NN" of McMahan et al. 2017
// (arXiv:1602.05629), 199,210 parameters on MNIST.
#include "clients/models/catalog.h"

namespace fedhive::clients {

namespace {

LayerList mlp_layers(const Values& values) {
    const auto hidden = static_cast<float>(values.integer("hidden"));
    return LayerList()
        .add("flatten")
        .add("linear", {hidden}, "fc1")
        .add("relu")
        .add("linear", {hidden}, "fc2")
        .add("relu")
        .add("linear", {}, "fc3");
}

}  // namespace

NamedModel mlp_model() {
    return {.name = "mlp",
            .summary = "two hidden layers",
            .source = "2NN of arXiv:1602.05629",
            .keys = {{.name = "hidden",
                      .default_value = std::int64_t{200},
                      .range = between(1, kWide),
                      .doc = "Units of each hidden layer; 200 is the 2NN of arXiv:1602.05629."}},
            .layers = mlp_layers};
}

}  // namespace fedhive::clients
