#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/format.h>

namespace fedhive::clients {

namespace {

LayerFit fit_linear(const Values& arguments, const Shape& in) {
    if (in.size() > 2)
        throw ConfigError(fmt::format("takes features in a row, but its input is {}; put flatten before it", text_of(in)));
    const std::int64_t outputs = *arguments.optional_integer("out");
    const auto inputs = static_cast<double>(in.back());
    Shape out = in;
    out.back() = outputs;
    const double places = num_values(out) / static_cast<double>(outputs);
    return {out, weight_and_bias({outputs, in.back()}, inputs), places * 2.0 * inputs * static_cast<double>(outputs)};
}

}  // namespace

LayerSpec linear_layer() {
    return {.kind = LayerKind::Linear,
            .torch = "Linear",
            .summary =
                "Fully connected layer with bias: maps features in a row to `out` features. On a sequence it maps each "
                "position with the same parameters.",
            .keys = {{.name = "out",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(1, kWide),
                      .default_note = "only in the last layer: the number of classes, or of numbers in a target",
                      .doc = "Units."}},
            .fit = fit_linear};
}

}  // namespace fedhive::clients
