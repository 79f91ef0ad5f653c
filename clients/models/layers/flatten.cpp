#include "clients/models/layer_kind.h"

namespace fedhive::clients {

namespace {

LayerFit fit_flatten(const Values&, const Shape& in) { return {{static_cast<std::int64_t>(num_values(in))}, {}, 0.0}; }

}  // namespace

LayerSpec flatten_layer() {
    return {.kind = LayerKind::Flatten,
            .torch = "Flatten",
            .summary = "An image's values in a row: channel by channel, line by line.",
            .keys = {},
            .fit = fit_flatten};
}

}  // namespace fedhive::clients
