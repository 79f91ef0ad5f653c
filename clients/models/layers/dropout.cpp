#include "clients/models/layer_kind.h"

namespace fedhive::clients {

namespace {

KeySpec dropped() {
    return {.name = "p", .default_value = 0.5, .range = fraction_below_one(), .doc = "Probability of dropping a value."};
}

LayerFit fit_dropout2d(const Values& arguments, const Shape& in) {
    require_image(in);
    return fit_each_value(arguments, in);
}

}  // namespace

LayerSpec dropout_layer() {
    return {.kind = LayerKind::Dropout,
            .torch = "Dropout",
            .summary =
                "In training, sets values to 0 with probability p and divides the others by 1 − p; in evaluation it changes "
                "nothing.",
            .keys = {dropped()},
            .fit = fit_each_value};
}

LayerSpec dropout2d_layer() {
    return {.kind = LayerKind::Dropout2d,
            .torch = "Dropout2d",
            .summary = "Dropout of whole image channels.",
            .keys = {dropped()},
            .fit = fit_dropout2d};
}

}  // namespace fedhive::clients
