#include "clients/models/layer_kind.h"

namespace fedhive::clients {

/// Its layers' shapes, and its shortcut's, are looked at by model_plan.cpp; what is left is the sum, of the shape that both give.
LayerKind residual_layer() {
    return {
        .name = "residual",
        .torch = "",
        .summary =
            "A list of layers, whose output is added to what went into them, or, with `shortcut` beside it, to what that list "
            "of layers makes of it; both have to be of one shape (arXiv:1512.03385).",
        .keys = {},
        .holds_layers = true,
        .fit = fit_each_value};
}

}  // namespace fedhive::clients
