// Long short-term memory (Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735) with a
// forget gate and no peepholes, as nn.LSTM:
//
//   i, f, g, o = W_ih x_t + b_ih + W_hh h_(t-1) + b_hh           c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
//   h_0 = c_0 = 0                                                h_t = sigmoid(o) tanh(c_t)
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_lstm(const Values& arguments, const Shape& in) {
    require_sequence(in);
    const std::int64_t hidden = arguments.integer("hidden"), gates = 4 * hidden;
    const auto h = static_cast<double>(hidden);
    LayerFit fit{.out = arguments.flag("all_positions") ? Shape{in[0], hidden} : Shape{hidden}, .parameters = {}};
    std::int64_t inputs = in[1];
    for (std::int64_t layer = 0; layer < arguments.integer("layers"); ++layer, inputs = hidden) {
        const auto add = [&](const char* name, Shape shape) {
            fit.parameters.push_back({fmt::format("{}_l{}", name, layer), std::move(shape), Initial::FanIn, h});
        };
        add("weight_ih", {gates, inputs});
        add("weight_hh", {gates, hidden});
        add("bias_ih", {gates});
        add("bias_hh", {gates});
        // Two products with their biases, their sum, four gate functions of it, and the updates of cell and output.
        fit.flops += static_cast<double>(in[0]) * (8.0 * h * (static_cast<double>(inputs) + h) + 8.0 * h + 5.0 * h);
    }
    return fit;
}

}  // namespace

LayerSpec lstm_layer() {
    return {.kind = LayerKind::Lstm,
            .torch = "LSTM",
            .summary =
                "Long short-term memory along a sequence, starting from states of 0: maps positions x features to the `hidden` "
                "features of the last position.",
            .keys = {integer_key("hidden", 1, "Number of features of its state."),
                     {.name = "layers",
                      .default_value = std::int64_t{1},
                      .range = between(1, 64),
                      .doc = "Number of stacked LSTM layers."},
                     {.name = "all_positions",
                      .default_value = false,
                      .doc = "true: gives the features of every position, positions x `hidden`."}},
            .fit = fit_lstm};
}

}  // namespace fedhive::clients
