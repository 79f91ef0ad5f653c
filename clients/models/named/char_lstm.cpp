// The next character by two LSTM layers on characters' embeddings: the Shakespeare network of McMahan et al. 2017
// (arXiv:1602.05629) in the sizes of LEAF (Caldas et al. 2018, arXiv:1812.01097, stacked_lstm.py): 8 features a character, 256
// units a layer, softmax after the last character, or after every one if each position has a target.
//
//   Differs   Two biases for each gate, as in nn.LSTM; LEAF has one. On LEAF's 80 characters: 819,920 parameters, LEAF 2,048
//             fewer. Initial values are PyTorch's; LEAF adds 1 to the forget gates' biases.
#include "clients/models/catalog.h"

namespace fedhive::clients {

namespace {

LayerList layers_of(const Values& values, bool all_positions) {
    const auto argument = [&](const char* key) { return static_cast<float>(values.integer(key)); };
    std::vector<float> lstm{argument("units"), argument("lstm_layers")};
    if (all_positions) lstm.push_back(1.0F);
    return LayerList().add("embedding", {argument("dim")}, "embed").add("lstm", lstm, "lstm").add("linear", {}, "linear");
}

}  // namespace

NamedModel char_lstm_model() {
    return {.name = "char_lstm",
            .summary = "LEAF's next-character network, for tokens",
            .source = "arXiv:1812.01097, after arXiv:1602.05629",
            .keys = {{.name = "dim",
                      .default_value = std::int64_t{8},
                      .range = between(1, kWide),
                      .doc = "Features of each token; 8 in arXiv:1602.05629 and in LEAF."},
                     {.name = "units",
                      .default_value = std::int64_t{256},
                      .range = between(1, kWide),
                      .doc = "Units of each LSTM layer; 256 in arXiv:1602.05629 and in LEAF."},
                     {.name = "lstm_layers",
                      .default_value = std::int64_t{2},
                      .range = between(1, 64),
                      .doc = "LSTM layers; 2 in arXiv:1602.05629 and in LEAF."}},
            .takes_tokens = true,
            .layers = [](const Values& values) { return layers_of(values, false); },
            .layers_at_each = [](const Values& values) { return layers_of(values, true); },
            .tells_numbers = false};
}

}  // namespace fedhive::clients
