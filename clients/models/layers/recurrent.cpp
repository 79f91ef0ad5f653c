// Recurrent layers as in torch.nn, h_0 = c_0 = 0; σ is the logistic function.
//
// lstm   long short-term memory (Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735) with a forget gate and no
//        peepholes, as nn.LSTM:
//
//   i, f, g, o = W_ih x_t + b_ih + W_hh h_(t-1) + b_hh           c_t = σ(f) c_(t-1) + σ(i) tanh(g)
//                                                                h_t = σ(o) tanh(c_t)
//
// gru    gated recurrent unit (Cho et al. 2014, arXiv:1406.1078), as nn.GRU, with the reset gate after the product:
//
//   r, z, n = W_ih x_t + b_ih                                    h_t = (1 − σ(z + z')) n' + σ(z + z') h_(t-1)
//   r', z', m = W_hh h_(t-1) + b_hh                              n' = tanh(n + σ(r + r') m)
//
// Bidirectional, a layer has a second set of tensors, "_reverse", for the way from the last position to the first; a position's
// features are those of both ways, side by side.
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

/// gates: functions of a position; operations: on a position's `hidden` features besides the two products and their biases.
LayerFit fit_recurrent(const Values& arguments, const Shape& in, std::int64_t gates, double operations) {
    require_sequence(in);
    const std::int64_t hidden = arguments.integer("hidden"), rows = gates * hidden;
    const bool both_ways = arguments.flag("bidirectional");
    const std::int64_t features = both_ways ? 2 * hidden : hidden;
    const auto h = static_cast<double>(hidden);
    LayerFit fit{.out = arguments.flag("all_positions") ? Shape{in[0], features} : Shape{features}, .parameters = {}};
    std::int64_t inputs = in[1];
    for (std::int64_t layer = 0; layer < arguments.integer("layers"); ++layer, inputs = features)
        for (const char* way : {"", "_reverse"}) {
            if (*way != '\0' && !both_ways) continue;
            const auto add = [&](const char* name, Shape shape) {
                fit.parameters.push_back({fmt::format("{}_l{}{}", name, layer, way), std::move(shape), Initial::FanIn, h});
            };
            add("weight_ih", {rows, inputs});
            add("weight_hh", {rows, hidden});
            add("bias_ih", {rows});
            add("bias_hh", {rows});
            const auto positions = static_cast<double>(in[0]);
            fit.kept +=
                positions * 7.0 * h;  // lstm: four gates, two cells and the state; gru: two times three gates, the state
            if (both_ways) fit.kept += positions * (1.5 * h + 0.5 * static_cast<double>(inputs));  // the two joined, and apart
            const double products = 2.0 * static_cast<double>(gates) * h * (static_cast<double>(inputs) + h);
            fit.flops += positions * (products + operations * h);
        }
    const auto of_layers = static_cast<double>(in[0] * features);
    fit.kept += 2.0 * of_layers;  // gradients between layers
    if (arguments.number("dropout") > 0.0) fit.kept += static_cast<double>(arguments.integer("layers") - 1) * of_layers;
    return fit;
}

/// The sum of both products, four gate functions of it, and the updates of cell (3) and output (2).
LayerFit fit_lstm(const Values& arguments, const Shape& in) { return fit_recurrent(arguments, in, 4, 4.0 + 4.0 + 5.0); }

/// Two sums, the reset product and its sum, three gate functions, and the mixture with the last state (3).
LayerFit fit_gru(const Values& arguments, const Shape& in) { return fit_recurrent(arguments, in, 3, 2.0 + 2.0 + 3.0 + 3.0); }

LayerSpec recurrent_layer(LayerKind kind, std::string torch, const std::string& what,
                          LayerFit (*fit)(const Values&, const Shape&)) {
    return {
        .kind = kind,
        .torch = std::move(torch),
        .summary = what +
                   " along a sequence, starting from states of 0: maps positions x features to the `hidden` features of the "
                   "last position.",
        .keys =
            {integer_key("hidden", 1, "Number of features of its state."),
             {.name = "layers", .default_value = std::int64_t{1}, .range = between(1, 64), .doc = "Number of stacked layers."},
             {.name = "all_positions",
              .default_value = false,
              .doc = "true: gives the features of every position, positions x `hidden`."},
             {.name = "bidirectional",
              .default_value = false,
              .doc = "true: each layer also goes from the last position to the first, with weights of its own. Features "
                     "are then 2 x `hidden`: those of both ways, each after its last step, or at every position."},
             {.name = "dropout",
              .default_value = 0.0,
              .range = fraction_below_one(),
              .doc = "Probability of dropping a feature between stacked layers, in training."}},
        .fit = fit};
}

}  // namespace

LayerSpec lstm_layer() { return recurrent_layer(LayerKind::Lstm, "LSTM", "Long short-term memory", fit_lstm); }

LayerSpec gru_layer() { return recurrent_layer(LayerKind::Gru, "GRU", "Gated recurrent units (arXiv:1406.1078)", fit_gru); }

}  // namespace fedhive::clients
