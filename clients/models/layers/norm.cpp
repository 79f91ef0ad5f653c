#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

/// FLOPs per value: four for mean and variance, three for the normalisation.
LayerFit normalised(const Shape& in, const Shape& scales) {
    return {in, {{"weight", scales, Initial::Ones}, {"bias", scales, Initial::Zeros}}, 7.0 * num_values(in)};
}

LayerFit fit_group_norm(const Values& arguments, const Shape& in) {
    require_image(in);
    const std::int64_t groups = arguments.integer("groups");
    if (in[0] % groups != 0)
        throw ConfigError(
            fmt::format("needs a number of channels that {} groups divide evenly, but its input is {}", groups, text_of(in)));
    if (in[0] / groups * in[1] * in[2] < 2)
        throw ConfigError(
            fmt::format("needs more than one value per group, but its input is {}; use fewer groups", text_of(in)));
    return normalised(in, {in[0]});
}

LayerFit fit_batch_norm(const Values&, const Shape& in) {
    require_no_sequence(in);
    const Shape channels{in[0]};
    LayerFit fit = normalised(in, channels);
    fit.buffers = {{"running_mean", channels, Initial::Zeros}, {"running_var", channels, Initial::Ones}};
    return fit;
}

LayerFit fit_layer_norm(const Values& arguments, const Shape& in) {
    if (!arguments.flag("each_position")) return normalised(in, in);
    require_sequence(in);
    return normalised(in, {in[1]});
}

}  // namespace

LayerSpec batch_norm_layer() {
    return {
        .kind = LayerKind::BatchNorm,
        .torch = "BatchNorm2d, BatchNorm1d",
        .summary =
            "Batch norm: normalises each channel of a batch, or each feature of examples in a row, to mean 0 and variance 1 (ε "
            "= 1e-5), then scales and shifts it (arXiv:1502.03167). Evaluation uses running statistics (momentum 0.1), which "
            "are averaged with the model. A batch with one value per channel also uses them and does not change them.",
        .keys = {},
        .fit = fit_batch_norm};
}

LayerSpec group_norm_layer() {
    return {.kind = LayerKind::GroupNorm,
            .torch = "GroupNorm",
            .summary =
                "Group norm: normalises each group of an image's channels to mean 0 and variance 1 (ε = 1e-5), then scales and "
                "shifts each channel (arXiv:1803.08494). Use it instead of batch norm if clients' data differ.",
            .keys = {integer_key("groups", 1, "Number of groups; it must divide the channels.")},
            .fit = fit_group_norm};
}

LayerSpec layer_norm_layer() {
    return {.kind = LayerKind::LayerNorm,
            .torch = "LayerNorm",
            .summary =
                "Layer norm: normalises all values of an example to mean 0 and variance 1 (ε = 1e-5), then scales and shifts "
                "each value (arXiv:1607.06450).",
            .keys = {{.name = "each_position",
                      .default_value = false,
                      .doc = "true: normalises the features of each position of a sequence separately, with one common scale "
                             "and shift, as in transformers."}},
            .fit = fit_layer_norm};
}

}  // namespace fedhive::clients
