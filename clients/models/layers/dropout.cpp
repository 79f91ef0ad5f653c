#include "clients/models/layer_kind.h"

namespace fedhive::clients {

namespace {

KeySpec dropped() {
    return {.name = "p", .default_value = 0.5, .range = fraction_below_one(), .doc = "Probability with which each is dropped."};
}

LayerFit fit_dropout2d(const Values& arguments, const Shape& in) {
    require_image(in);
    return fit_each_value(arguments, in);
}

}  // namespace

LayerSpec dropout_layer() {
    return {.kind = LayerKind::Dropout,
            .torch = "Dropout",
            .summary = "In training, some values become 0 and the others 1 / (1 − p) as large; in evaluation nothing changes.",
            .keys = {dropped()},
            .fit = fit_each_value};
}

LayerSpec dropout2d_layer() {
    return {.kind = LayerKind::Dropout2d,
            .torch = "Dropout2d",
            .summary = "The same with whole channels of images.",
            .keys = {dropped()},
            .fit = fit_dropout2d};
}

}  // namespace fedhive::clients
