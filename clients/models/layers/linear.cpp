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
    const double places = num_values(out) / static_cast<double>(outputs),
                 products = places * inputs * static_cast<double>(outputs);
    const bool bias = arguments.flag("bias");
    LayerFit fit{out, weight_and_bias({outputs, in.back()}, inputs), 2.0 * products - (bias ? 0.0 : num_values(out))};
    if (!bias) fit.parameters.pop_back();
    add_low_rank(fit, arguments, "", in.back(), outputs, places);
    return fit;
}

}  // namespace

LayerSpec linear_layer() {
    std::vector<KeySpec> keys{{.name = "out",
                               .default_value = std::optional<std::int64_t>(),
                               .range = between(1, kWide),
                               .default_note = "only in the last layer: the number of classes, or of numbers in a target",
                               .doc = "Units."},
                              {.name = "bias", .default_value = true, .doc = "Adds a trained number to each unit."}};
    for (KeySpec& key : low_rank_keys("the weight")) keys.push_back(std::move(key));
    return {.kind = LayerKind::Linear,
            .torch = "Linear",
            .summary =
                "Fully connected layer: maps features in a row to `out` features. On a sequence it maps each position with the "
                "same parameters.",
            .keys = keys,
            .fit = fit_linear};
}

}  // namespace fedhive::clients
