#include "clients/models/layer_kind.h"

namespace fedhive::clients {

/// The fit of the sum alone. model_plan.cpp checks the shapes of the residual's layers and of its shortcut.
LayerSpec residual_layer() {
    return {.kind = LayerKind::Residual,
            .torch = "",
            .summary =
                "A list of layers whose output is added to their input or, with `shortcut` beside it, to the output of the "
                "shortcut's layers. Both must have the same shape (arXiv:1512.03385).",
            .keys = {},
            .holds_layers = true,
            .fit = fit_each_value};
}

}  // namespace fedhive::clients
