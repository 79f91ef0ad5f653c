#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <fmt/ranges.h>

namespace fedhive::clients {

LayerSpec linear_layer();
LayerSpec conv2d_layer();
LayerSpec max_pool_layer();
LayerSpec avg_pool_layer();
LayerSpec channel_shuffle_layer();
LayerSpec relu_layer();
LayerSpec tanh_layer();
LayerSpec gelu_layer();
LayerSpec scale_layer();
LayerSpec dropout_layer();
LayerSpec dropout2d_layer();
LayerSpec flatten_layer();
LayerSpec batch_norm_layer();
LayerSpec group_norm_layer();
LayerSpec layer_norm_layer();
LayerSpec residual_layer();
LayerSpec embedding_layer();
LayerSpec lstm_layer();
LayerSpec gru_layer();
LayerSpec position_layer();
LayerSpec attention_layer();
LayerSpec last_position_layer();
LayerSpec mean_layer();

namespace {

std::vector<LayerSpec> in_order_of_kinds(std::vector<LayerSpec> specs) {
    FEDHIVE_CHECK_EQ(specs.size(), kNumLayerKinds);
    for (std::size_t i = 0; i < specs.size(); ++i)
        FEDHIVE_CHECK(specs[i].kind == static_cast<LayerKind>(i), "{} is not in the order of LayerKind", specs[i].name);
    return specs;
}

}  // namespace

const std::vector<LayerSpec>& layer_catalog() {
    static const std::vector<LayerSpec> specs = in_order_of_kinds(
        {linear_layer(),    conv2d_layer(),        max_pool_layer(),   avg_pool_layer(),   channel_shuffle_layer(),
         relu_layer(),      tanh_layer(),          gelu_layer(),       scale_layer(),      dropout_layer(),
         dropout2d_layer(), flatten_layer(),       batch_norm_layer(), group_norm_layer(), layer_norm_layer(),
         residual_layer(),  embedding_layer(),     lstm_layer(),       gru_layer(),        position_layer(),
         attention_layer(), last_position_layer(), mean_layer()});
    return specs;
}

std::string text_of(const Shape& shape) { return fmt::format("{}", fmt::join(shape, " x ")); }

double num_values(const Shape& shape) {
    double values = 1.0;
    for (const std::int64_t size : shape) values *= static_cast<double>(size);
    return values;
}

float argument_of(const KeyValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<float>(*integer);
    if (const auto* number = std::get_if<double>(&value)) return static_cast<float>(*number);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0F : 0.0F;
    return static_cast<float>(std::get<std::optional<std::int64_t>>(value).value_or(0));
}

KeySpec integer_key(std::string name, double low, std::string doc) {
    return {.name = std::move(name),
            .default_value = std::int64_t{0},
            .range = between(low, kWide),
            .required = true,
            .doc = std::move(doc)};
}

KeySpec integer_key(std::string name, double low, std::int64_t default_value, std::string doc) {
    return {.name = std::move(name), .default_value = default_value, .range = between(low, kWide), .doc = std::move(doc)};
}

LayerFit fit_each_value(const Values&, const Shape& in) { return {.out = in, .parameters = {}, .flops = num_values(in)}; }

void require_sequence(const Shape& in) {
    if (in.size() != 2)
        throw ConfigError(
            fmt::format("takes a sequence, positions x features, such as the output of embedding or of lstm or gru with "
                        "all_positions, but its input is {}",
                        text_of(in)));
}

void require_no_sequence(const Shape& in) {
    if (in.size() == 2)
        throw ConfigError(
            fmt::format("does not take a sequence, but its input is {}, positions x features; put lstm or last_position before "
                        "it to get the features of the last position",
                        text_of(in)));
}

void require_image(const Shape& in) {
    require_no_sequence(in);
    if (in.size() != 3)
        throw ConfigError(
            fmt::format("takes images, channels x height x width, but its input is {} in a row; remove the flatten or linear "
                        "layer before it",
                        text_of(in)));
}

std::vector<Parameter> weight_and_bias(Shape shape, double fan_in) {
    const std::int64_t outputs = shape.front();
    return {{"weight", std::move(shape), Initial::Kaiming, fan_in}, {"bias", {outputs}, Initial::FanIn, fan_in}};
}

}  // namespace fedhive::clients
