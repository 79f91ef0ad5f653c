// The layers of a transformer (Vaswani et al. 2017, arXiv:1706.03762) besides linear layers and norms: positions, attention,
// and the last position or the mean of all.
#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_position(const Values&, const Shape& in) {
    require_sequence(in);
    return {in, {{"weight", in, Initial::Normal}}, num_values(in)};
}

/// Self-attention like nn.MultiheadAttention with queries, keys and values from the same sequence, with its tensor names.
LayerFit fit_attention(const Values& arguments, const Shape& in) {
    require_sequence(in);
    const std::int64_t heads = arguments.integer("heads"), dim = in[1];
    if (dim % heads != 0)
        throw ConfigError(
            fmt::format("needs a number of features that {} heads divide evenly, but its input is {}", heads, text_of(in)));
    const auto t = static_cast<double>(in[0]), d = static_cast<double>(dim);
    LayerFit fit{.out = in, .parameters = {}};
    fit.parameters = {{"in_proj_weight", {3 * dim, dim}, Initial::Xavier},
                      {"in_proj_bias", {3 * dim}, Initial::Zeros},
                      {"out_proj.weight", {dim, dim}, Initial::Kaiming, d},
                      {"out_proj.bias", {dim}, Initial::Zeros}};
    // Queries, keys, values and what they give, each with its gradient, and the shares.
    fit.kept = 8.0 * t * d + static_cast<double>(heads) * t * t;
    // Four projections, the scaling of queries, the scores and the weighted sum of values; for each score an exponential, an
    // addition and a division.
    fit.flops = 8.0 * t * d * d + t * d + 4.0 * t * t * d + 3.0 * static_cast<double>(heads) * t * t;
    add_low_rank(fit, arguments, "in_proj.", dim, 3 * dim, t);
    add_low_rank(fit, arguments, "out_proj.", dim, dim, t);
    return fit;
}

LayerFit fit_last_position(const Values&, const Shape& in) {
    require_sequence(in);
    return {{in[1]}, {}, 0.0};
}

LayerFit fit_mean(const Values&, const Shape& in) {
    require_sequence(in);
    return {{in[1]}, {}, num_values(in)};
}

}  // namespace

LayerSpec position_layer() {
    return {.kind = LayerKind::Position,
            .torch = "Embedding, of the positions' numbers",
            .summary = "Learned position embedding: adds a row of a table to each position of a sequence.",
            .keys = {},
            .fit = fit_position};
}

LayerSpec attention_layer() {
    std::vector<KeySpec> keys{
        integer_key("heads", 1, "Number of heads; it must divide the features."),
        {.name = "causal",
         .default_value = false,
         .doc = "true: a position does not attend to later ones, as needed for predicting the next token."},
        {.name = "dropout",
         .default_value = 0.0,
         .range = fraction_below_one(),
         .doc = "Probability of dropping the share that a position has in another, in training."}};
    for (KeySpec& key : low_rank_keys("in_proj_weight, and likewise to out_proj.weight")) keys.push_back(std::move(key));
    return {.kind = LayerKind::Attention,
            .torch = "MultiheadAttention",
            .summary =
                "Multi-head scaled dot-product self-attention over the positions of a sequence (arXiv:1706.03762); the shape "
                "stays the same.",
            .keys = keys,
            .fit = fit_attention};
}

LayerSpec last_position_layer() {
    return {.kind = LayerKind::LastPosition,
            .torch = "",
            .summary = "Takes the features of a sequence's last position.",
            .keys = {},
            .fit = fit_last_position};
}

LayerSpec mean_layer() {
    return {.kind = LayerKind::Mean,
            .torch = "",
            .summary = "Takes the mean of each feature over a sequence's positions.",
            .keys = {},
            .fit = fit_mean};
}

}  // namespace fedhive::clients
