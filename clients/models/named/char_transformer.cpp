// The next token by a small decoder-only transformer (Vaswani et al. 2017, arXiv:1706.03762): token and position embeddings;
// pre-norm residual blocks of causal attention and of two linear layers with GELU, as in GPT-2 (Radford et al. 2019); a final
// norm, and softmax after the last token, or after every one if each position has a target.
//
//   Sizes     A block of D features has 12 D^2 + 13 D parameters, GPT-2's.
//   Differs   Initial values are PyTorch's; no dropout; the last layer's weights are not tied to the embedding.
#include "clients/models/catalog.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerList transformer_layers(const Values& values, bool all_positions) {
    const auto argument = [&](const char* key) { return static_cast<float>(values.integer(key)); };
    const float width = argument("width"), each_position = 1.0F, causal = 1.0F;
    LayerList list;
    list.add("embedding", {width}, "embed").add("position", {}, "position");
    for (std::int64_t block = 0; block < values.integer("blocks"); ++block) {
        list.add("residual", {}, fmt::format("attend{}", block)).add("layer_norm", {each_position}, "norm");
        list.add("attention", {argument("heads"), causal}, "attention").end();
        list.add("residual", {}, fmt::format("feed{}", block)).add("layer_norm", {each_position}, "norm");
        list.add("linear", {4.0F * width}, "widen").add("gelu").add("linear", {width}, "narrow").end();
    }
    list.add("layer_norm", {each_position}, "norm");
    if (!all_positions) list.add("last_position");
    return list.add("linear", {}, "linear");
}

}  // namespace

NamedModel char_transformer_model() {
    return {.name = "char_transformer",
            .summary = "a small causal transformer, for tokens",
            .source = "arXiv:1706.03762, in GPT-2's form",
            .keys = {{.name = "width",
                      .default_value = std::int64_t{64},
                      .range = between(1, kWide),
                      .doc = "Features of each token and position; heads must divide them."},
                     {.name = "heads",
                      .default_value = std::int64_t{4},
                      .range = between(1, kWide),
                      .doc = "Number of heads of each attention layer."},
                     {.name = "blocks", .default_value = std::int64_t{2}, .range = between(1, 8), .doc = "Number of blocks."}},
            .takes_tokens = true,
            .layers = [](const Values& values) { return transformer_layers(values, false); },
            .layers_at_each = [](const Values& values) { return transformer_layers(values, true); },
            .tells_numbers = false};
}

}  // namespace fedhive::clients
