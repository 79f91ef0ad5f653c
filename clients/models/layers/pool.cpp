#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_pool(const Values& arguments, const Shape& in) {
    require_image(in);
    const std::int64_t size = arguments.integer("size");
    if (size == 0) return {{in[0], 1, 1}, {}, num_values(in)};
    if (in[1] < size || in[2] < size)
        throw ConfigError(fmt::format(
            "needs images of at least {0} x {0} pixels, but its input is {1}; use a smaller size, or fewer pools before it",
            size, text_of(in)));
    const Shape out{in[0], in[1] / size, in[2] / size};
    return {out, {}, static_cast<double>(size * size) * num_values(out)};
}

LayerSpec pool_layer(LayerKind kind, std::string torch, const std::string& what, KeySpec size) {
    return {
        .kind = kind,
        .torch = std::move(torch),
        .summary =
            what + " of each window of size × size pixels. Windows do not overlap; pixels left over at the edge are ignored.",
        .keys = {std::move(size)},
        .fit = fit_pool};
}

}  // namespace

LayerSpec max_pool_layer() {
    return pool_layer(LayerKind::MaxPool, "MaxPool2d", "The largest value",
                      integer_key("size", 1, "Side of a window, in pixels."));
}
LayerSpec avg_pool_layer() {
    return pool_layer(LayerKind::AvgPool, "AvgPool2d, AdaptiveAvgPool2d(1)", "The mean",
                      integer_key("size", 0, 0, "Side of a window, in pixels; 0: the whole image, of any size."));
}

}  // namespace fedhive::clients
