#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

PoolWindows windows_of(const Values& arguments) {
    const std::int64_t size = arguments.integer("size"), stride = arguments.optional_integer("stride").value_or(0);
    return {size, stride > 0 ? stride : size, arguments.optional_integer("padding").value_or(0)};
}

namespace {

LayerFit fit_pool(const Values& arguments, const Shape& in) {
    require_image(in);
    const PoolWindows windows = windows_of(arguments);
    if (windows.size == 0) {
        if (windows.stride > 0 || windows.padding > 0)
            throw ConfigError("takes the mean over the whole image, without a stride and without padding; give it a size");
        return {{in[0], 1, 1}, {}, num_values(in)};
    }
    if (2 * windows.padding > windows.size)
        throw ConfigError(fmt::format("has padding {}; allowed: at most half its size, {}, so that each window sees the image",
                                      windows.padding, windows.size / 2));
    const std::int64_t height = in[1] + 2 * windows.padding - windows.size, width = in[2] + 2 * windows.padding - windows.size;
    if (height < 0 || width < 0)
        throw ConfigError(fmt::format(
            "needs images of at least {0} x {0} pixels, but its input is {1}; use a smaller size, or fewer pools before it",
            windows.size - 2 * windows.padding, text_of(in)));
    const Shape out{in[0], height / windows.stride + 1, width / windows.stride + 1};
    return {out, {}, static_cast<double>(windows.size * windows.size) * num_values(out)};
}

LayerSpec pool_layer(LayerKind kind, std::string torch, const std::string& what, KeySpec size, std::string padding) {
    KeySpec stride{.name = "stride",
                   .default_value = std::optional<std::int64_t>(),
                   .range = between(1, kWide),
                   .default_note = "`size`",
                   .doc = "Distance between two windows, in pixels."};
    KeySpec around{.name = "padding",
                   .default_value = std::optional<std::int64_t>(),
                   .range = between(0, kWide),
                   .default_note = "`0`",
                   .doc = std::move(padding)};
    return {.kind = kind,
            .torch = std::move(torch),
            .summary = what +
                       " of each window of size × size pixels; a side of n pixels becomes ⌊(n + 2 padding − size) / stride⌋ "
                       "+ 1. Pixels left over at the edge are ignored.",
            .keys = {std::move(size), std::move(stride), std::move(around)},
            .fit = fit_pool};
}

}  // namespace

LayerSpec max_pool_layer() {
    return pool_layer(LayerKind::MaxPool, "MaxPool2d", "The largest value",
                      integer_key("size", 1, "Side of a window, in pixels."),
                      "Pixels on each side of the image that no window takes a value from, at most half the size.");
}
LayerSpec avg_pool_layer() {
    return pool_layer(LayerKind::AvgPool, "AvgPool2d, AdaptiveAvgPool2d(1)", "The mean",
                      integer_key("size", 0, 0, "Side of a window, in pixels; 0: the whole image, of any size."),
                      "Pixels of 0 on each side of the image, at most half the size; they count in the mean.");
}

}  // namespace fedhive::clients
