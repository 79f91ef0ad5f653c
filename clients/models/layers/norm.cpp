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
        throw ConfigError(fmt::format("takes channels that {} groups divide evenly; what comes in is {}", groups, text_of(in)));
    if (in[0] / groups * in[1] * in[2] < 2)
        throw ConfigError(fmt::format("takes more than one value a group; what comes in is {}; use fewer groups", text_of(in)));
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
            "Each channel of a batch, or each value of examples in a row, is brought to mean 0 and variance 1 (ε = 1e-5), then "
            "scaled and shifted "
            "(arXiv:1502.03167). Evaluation takes running statistics (momentum 0.1), which are averaged with the model; so "
            "does a "
            "batch with one value a channel, which leaves them as they are.",
        .keys = {},
        .fit = fit_batch_norm};
}

LayerSpec group_norm_layer() {
    return {.kind = LayerKind::GroupNorm,
            .torch = "GroupNorm",
            .summary =
                "Each group of an image's channels is brought to mean 0 and variance 1 (ε = 1e-5), then scaled and shifted by "
                "channel "
                "(arXiv:1803.08494). In place of batch norm where clients' data differ.",
            .keys = {integer_key("groups", 1, "Groups; must divide the channels.")},
            .fit = fit_group_norm};
}

LayerSpec layer_norm_layer() {
    return {.kind = LayerKind::LayerNorm,
            .torch = "LayerNorm",
            .summary =
                "All values of an example are brought to mean 0 and variance 1 (ε = 1e-5), then scaled and shifted one by one "
                "(arXiv:1607.06450).",
            .keys = {{.name = "each_position",
                      .default_value = false,
                      .doc = "Of a sequence: the features of each position by themselves, all scaled and shifted by the same, "
                             "as transformers have it."}},
            .fit = fit_layer_norm};
}

}  // namespace fedhive::clients
