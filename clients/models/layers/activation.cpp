#include "clients/models/layer_kind.h"

namespace fedhive::clients {

LayerSpec relu_layer() {
    return {.kind = LayerKind::Relu, .torch = "ReLU", .summary = "max(x, 0) of each value.", .keys = {}, .fit = fit_each_value};
}

LayerSpec tanh_layer() {
    return {.kind = LayerKind::Tanh,
            .torch = "Tanh",
            .summary = "The hyperbolic tangent of each value.",
            .keys = {},
            .fit = fit_each_value};
}

LayerSpec gelu_layer() {
    return {.kind = LayerKind::Gelu,
            .torch = "GELU",
            .summary = "x Φ(x) of each value, where Φ is the normal distribution function (arXiv:1606.08415).",
            .keys = {},
            .fit = fit_each_value};
}

LayerSpec scale_layer() {
    return {
        .kind = LayerKind::Scale,
        .torch = "",
        .summary = "Multiplies each value by a constant.",
        .keys =
            {{.name = "by", .default_value = 1.0, .range = between(-kWide, kWide), .required = true, .doc = "The constant."}},
        .fit = fit_each_value};
}

}  // namespace fedhive::clients
