#include "clients/models/layer_kind.h"

namespace fedhive::clients {

LayerKind relu_layer() {
    return {.name = "relu", .torch = "ReLU", .summary = "max(x, 0) of each value.", .keys = {}, .fit = fit_each_value};
}

LayerKind tanh_layer() {
    return {
        .name = "tanh", .torch = "Tanh", .summary = "The hyperbolic tangent of each value.", .keys = {}, .fit = fit_each_value};
}

LayerKind gelu_layer() {
    return {.name = "gelu",
            .torch = "GELU",
            .summary = "x Φ(x) of each value, where Φ is the normal distribution function (arXiv:1606.08415).",
            .keys = {},
            .fit = fit_each_value};
}

}  // namespace fedhive::clients
