#include "clients/models/layer_kind.h"

namespace fedhive::clients {

namespace {

LayerFit fit_embedding(const Values& arguments, const Shape& in) {
    const std::int64_t dim = arguments.integer("dim");
    return {{in[0], dim}, {{"weight", {*arguments.optional_integer("tokens"), dim}, Initial::Normal}}, 0.0};
}

}  // namespace

LayerSpec embedding_layer() {
    return {.kind = LayerKind::Embedding,
            .torch = "Embedding",
            .summary =
                "Of each token of a sequence its row of a table: positions to positions x `dim`. The first layer where "
                "the data are tokens, and only there.",
            .keys = {integer_key("dim", 1, "Features of each token."),
                     {.name = "tokens",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(1, kWide),
                      .default_note = "the tokens that the data know",
                      .doc = "Rows of the table; at least as many as the data know tokens."}},
            .takes_tokens = true,
            .fit = fit_embedding};
}

}  // namespace fedhive::clients
