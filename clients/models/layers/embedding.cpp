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
                "Maps each token of a sequence to its row of a learned table: positions to positions x `dim`. It must be the "
                "first layer for data of tokens, and only there.",
            .keys = {integer_key("dim", 1, "Features of each token."),
                     {.name = "tokens",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(1, kWide),
                      .default_note = "the vocabulary of the data",
                      .doc = "Number of rows of the table; at least the size of the data's vocabulary."}},
            .takes_tokens = true,
            .fit = fit_embedding};
}

}  // namespace fedhive::clients
