#include "sim/app/show_model.h"

#include "clients/models/model_plan.h"
#include "sim/plan/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace fedhive::sim {

namespace {

/// Number, layer, parameter name, output, parameters, FLOPs.
using Row = std::array<std::string, 6>;

/// Tensor, role, shape, number of values; or operation, count.
using GraphRow = std::array<std::string, 4>;

/// 1234567 -> "1,234,567"
std::string grouped(double count) {
    std::string digits = fmt::format("{:.0f}", count);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

/// "conv2d out 10, kernel 5": arguments that differ from the defaults.
std::string described(const clients::PlannedLayer& layer) {
    std::string text;
    for (const KeySpec& key : layer.spec().keys) {
        const KeyValue& value = *layer.arguments.find(key.name);
        if (!key.required && value == key.default_value) continue;
        if (std::holds_alternative<bool>(value)) {
            text += fmt::format("{} {}{}", text.empty() ? "" : ",", std::get<bool>(value) ? "" : "no ", key.name);
            continue;
        }
        text += fmt::format("{} {} {}", text.empty() ? "" : ",", key.name, clients::argument_of(value));
    }
    return layer.spec().name + text;
}

/// "260", "260, frozen", "260, 10 of them frozen"
std::string counted(double parameters, double frozen) {
    if (frozen == 0.0) return grouped(parameters);
    return grouped(parameters) + (frozen == parameters ? ", frozen" : fmt::format(", {} of them frozen", grouped(frozen)));
}

void add_rows(const std::vector<clients::PlannedLayer>& layers, std::vector<Row>& rows) {
    for (const clients::PlannedLayer& layer : layers) {
        double parameters = 0.0, frozen = 0.0;
        for (const clients::Parameter& parameter : layer.fit.parameters) {
            parameters += clients::num_values(parameter.shape);
            if (parameter.frozen) frozen += clients::num_values(parameter.shape);
        }
        rows.push_back({layer.number, described(layer), parameters > 0.0 ? layer.name : "", clients::text_of(layer.fit.out),
                        counted(parameters, frozen), grouped(layer.fit.flops)});
        add_rows(layer.residual, rows);
        add_rows(layer.shortcut, rows);
    }
}

std::string graph_table(const std::vector<GraphRow>& rows) {
    std::array<std::size_t, 4> widths{};
    for (const GraphRow& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string text;
    for (const GraphRow& row : rows) {
        const std::string line = fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}", row[0], widths[0], row[1], widths[1], row[2],
                                             widths[2], row[3], widths[3]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

/// For a graph: the role of each tensor in training, and the operations.
std::string graph_text(const clients::ModelSpec& model, const std::string& kept) {
    using clients::exported::Role;
    static const std::map<Role, std::string> roles{{Role::Trained, "parameter"},
                                                   {Role::Frozen, "frozen parameter"},
                                                   {Role::Moved, "moved buffer"},
                                                   {Role::Counter, "counter, stays"},
                                                   {Role::Constant, "constant"}};
    const clients::exported::Program program = clients::program_of(model);
    std::vector<GraphRow> rows{{"tensor", "kind", "shape", "values"}};
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        const auto& tensor = program.tensors[i];
        const std::string tied = tensor.same_as == i ? "" : ", is " + program.tensors[tensor.same_as].name;
        rows.push_back({tensor.name, roles.at(tensor.role) + tied,
                        tensor.sizes.empty() ? "scalar" : clients::text_of(tensor.sizes),
                        grouped(static_cast<double>(tensor.num_values()))});
    }
    rows.push_back({"in all", "parameters", "", counted(clients::num_parameters(model), clients::num_frozen(model))});
    rows.push_back({"", "", "", ""});
    rows.push_back({"operation", "", "", "times"});
    for (const auto& [name, count] : program.operations()) rows.push_back({name, "", "", grouped(static_cast<double>(count))});
    return fmt::format(
        "{}, written by PyTorch {}, takes {}; runs as a graph: {}\n{}fedhive does not count the FLOPs of a graph\n",
        model.name.get(), program.torch_version, program.takes_tokens ? "tokens (I64)" : "numbers (F32)", kept,
        graph_table(rows));
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
    const clients::exported::SharedModelFile file = open_model_file(loaded);
    const clients::ModelSpec model = model_spec(loaded, data, file);
    if (model.is_graph()) return graph_text(model, kept_as_graph(loaded.run, model));
    const std::vector<clients::PlannedLayer> plan = clients::plan_model(model);
    std::vector<Row> rows{{"#", "layer", "parameters of", "output", "parameters", "FLOPs"},
                          {"", "input", "", clients::text_of(data.example), "", ""}};
    add_rows(plan, rows);
    double flops = 0.0;
    for (const clients::PlannedLayer& layer : plan) flops += clients::num_flops(layer);
    rows.push_back({"", "in all", "", clients::text_of(data.answers()),
                    counted(clients::num_parameters(model), clients::num_frozen(model)), grouped(flops)});
    return fmt::format("{}\n{}FLOPs of a forward pass over one example; a training step takes about three times as many\n",
                       model.name.get() + (model.exported.given() ? ", as layers" : ""), table(rows));
}

}  // namespace fedhive::sim
