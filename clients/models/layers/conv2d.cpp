#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_conv2d(const Values& arguments, const Shape& in) {
    require_image(in);
    const std::int64_t out = arguments.integer("out"), kernel = arguments.integer("kernel"),
                       stride = arguments.integer("stride"), padding = arguments.integer("padding"),
                       groups = arguments.integer("groups");
    if (in[0] % groups != 0 || out % groups != 0)
        throw ConfigError(
            fmt::format("takes and gives channels that {} groups divide evenly; {} come in, {} go out", groups, in[0], out));
    const std::int64_t height = in[1] + 2 * padding - kernel, width = in[2] + 2 * padding - kernel;
    if (height < 0 || width < 0)
        throw ConfigError(
            fmt::format("takes images of at least {0} x {0} pixels, padding included; what comes in is {1}; use a "
                        "smaller kernel, more padding, or fewer pools before it",
                        kernel, text_of(in)));
    const Shape to{out, height / stride + 1, width / stride + 1};
    const std::int64_t channels = in[0] / groups;  // input channels of one output
    const double fan_in = static_cast<double>(channels) * static_cast<double>(kernel * kernel);
    LayerFit fit{to, weight_and_bias({out, channels, kernel, kernel}, fan_in), 2.0 * fan_in * num_values(to)};
    if (!arguments.flag("bias")) fit.parameters.pop_back();
    return fit;
}

}  // namespace

LayerSpec conv2d_layer() {
    return {.kind = LayerKind::Conv2d,
            .torch = "Conv2d",
            .summary = "Convolution of images; a side of n becomes ⌊(n + 2 padding − kernel) / stride⌋ + 1.",
            .keys = {integer_key("out", 1, "Channels that it gives."),
                     integer_key("kernel", 1, "Side of the square that it sees, in pixels."),
                     integer_key("stride", 1, 1, "Pixels from one place to the next."),
                     integer_key("padding", 0, 0, "Zeros around the image, in pixels."),
                     integer_key("groups", 1, 1, "Groups of channels that see only each other."),
                     {.name = "bias",
                      .default_value = true,
                      .doc = "Whether a bias is added to each channel; false where a norm follows, as in ResNets."}},
            .fit = fit_conv2d};
}

}  // namespace fedhive::clients
