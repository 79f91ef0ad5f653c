#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_channel_shuffle(const Values& arguments, const Shape& in) {
    require_image(in);
    const std::int64_t groups = arguments.integer("groups");
    if (in[0] % groups != 0)
        throw ConfigError(
            fmt::format("needs a number of channels that {} groups divide evenly, but its input is {}", groups, text_of(in)));
    return {in, {}};
}

}  // namespace

LayerSpec channel_shuffle_layer() {
    return {.kind = LayerKind::ChannelShuffle,
            .torch = "ChannelShuffle",
            .summary =
                "Takes the first channel of each group, then the second of each, and so on, so that grouped convolutions mix "
                "their groups (ShuffleNet, arXiv:1707.01083).",
            .keys = {integer_key("groups", 1, "Number of groups of adjacent channels; it must divide the channels.")},
            .fit = fit_channel_shuffle};
}

}  // namespace fedhive::clients
