#include "sim/app/show_model.h"

#include "clients/models/model_plan.h"
#include "sim/plan/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fedhive::sim {

namespace {

/// Number, layer, name of its parameters, output, parameters, FLOPs.
using Row = std::array<std::string, 6>;

/// 1234567 -> "1,234,567"
std::string grouped(double count) {
    std::string digits = fmt::format("{:.0f}", count);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

/// "conv2d out 10, kernel 5": arguments that are not the default's.
std::string described(const clients::PlannedLayer& layer) {
    std::string text;
    for (const KeySpec& key : layer.kind->keys) {
        const KeyValue& value = *layer.arguments.find(key.name);
        if (!key.required && value == key.default_value) continue;
        if (std::holds_alternative<bool>(value)) {
            text += fmt::format("{} {}", text.empty() ? "" : ",", key.name);
            continue;
        }
        text += fmt::format("{} {} {}", text.empty() ? "" : ",", key.name, clients::argument_of(value));
    }
    return layer.kind->name + text;
}

void add_rows(const std::vector<clients::PlannedLayer>& layers, std::vector<Row>& rows) {
    for (const clients::PlannedLayer& layer : layers) {
        double parameters = 0.0;
        for (const clients::Parameter& parameter : layer.fit.parameters) parameters += clients::num_values(parameter.shape);
        rows.push_back({layer.number, described(layer), parameters > 0.0 ? layer.name : "", clients::text_of(layer.fit.out),
                        grouped(parameters), grouped(layer.fit.flops)});
        add_rows(layer.residual, rows);
    }
}

std::string table(const std::vector<Row>& rows) {
    std::array<std::size_t, 6> widths{};
    for (const Row& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string text;
    for (const Row& row : rows) {
        const std::string line =
            fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}", row[0], widths[0], row[1], widths[1], row[2],
                        widths[2], row[3], widths[3], row[4], widths[4], row[5], widths[5]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

}  // namespace

std::string model_table(const LoadedConfig& loaded) {
    const clients::DataShape data = data_shape(loaded);
    const clients::ModelSpec model = model_spec(loaded, data);
    const std::vector<clients::PlannedLayer> plan = clients::plan_model(model);
    std::vector<Row> rows{{"#", "layer", "parameters of", "output", "parameters", "FLOPs"},
                          {"", "input", "", clients::text_of(data.example), "", ""}};
    add_rows(plan, rows);
    double flops = 0.0;
    for (const clients::PlannedLayer& layer : plan) flops += clients::num_flops(layer);
    rows.push_back(
        {"", "in all", "", fmt::format("{}", data.num_classes), grouped(clients::num_parameters(model)), grouped(flops)});
    return fmt::format("{}\n{}FLOPs of a forward pass over one example; a training step takes about three times as many\n",
                       model.name.get(), table(rows));
}

}  // namespace fedhive::sim
