// Multinomial logistic regression: one linear layer on the flattened example (784 -> 10 on MNIST: 7,850 parameters).
#include "clients/models/catalog.h"

namespace fedhive::clients {

namespace {

LayerList lr_layers(const Values&) { return LayerList().add("flatten").add("linear", {}, "linear"); }

}  // namespace

NamedModel lr_model() {
    return {.name = "lr",
            .summary = "softmax regression",
            .source = "multinomial logistic regression",
            .keys = {},
            .layers = lr_layers,
            .tells_numbers = false};
}

}  // namespace fedhive::clients
