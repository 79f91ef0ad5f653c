// Linear regression: one linear layer from the flattened example to the targets' numbers.
#include "clients/models/catalog.h"

namespace fedhive::clients {

namespace {

LayerList linear_regression_layers(const Values&) { return LayerList().add("flatten").add("linear", {}, "linear"); }

}  // namespace

NamedModel linear_regression_model() {
    return {.name = "linear_regression",
            .summary = "linear regression",
            .source = "least squares by gradient descent",
            .keys = {},
            .layers = linear_regression_layers,
            .tells_classes = false};
}

}  // namespace fedhive::clients
