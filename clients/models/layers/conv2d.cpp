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
            fmt::format("needs input and output channels that {} groups divide evenly, but has {} and {}", groups, in[0], out));
    const std::int64_t height = in[1] + 2 * padding - kernel, width = in[2] + 2 * padding - kernel;
    if (height < 0 || width < 0)
        throw ConfigError(
            fmt::format("needs images of at least {0} x {0} pixels, including padding, but its input is {1}; use a smaller "
                        "kernel, more padding, or fewer pools before it",
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
            .summary = "Convolution of images; a side of n pixels becomes ⌊(n + 2 padding − kernel) / stride⌋ + 1.",
            .keys = {integer_key("out", 1, "Number of output channels."),
                     integer_key("kernel", 1, "Side of the square kernel, in pixels."),
                     integer_key("stride", 1, 1, "Distance between two kernel positions, in pixels."),
                     integer_key("padding", 0, 0, "Zero padding on each side of the image, in pixels."),
                     integer_key(
                         "groups", 1, 1,
                         "Number of groups of channels; an output channel depends only on the input channels of its group."),
                     {.name = "bias",
                      .default_value = true,
                      .doc = "true: adds a bias to each channel; false if a norm follows, as in ResNets."}},
            .fit = fit_conv2d};
}

}  // namespace fedhive::clients
