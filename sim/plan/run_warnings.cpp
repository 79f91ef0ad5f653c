#include "sim/plan/run_warnings.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/memory/cuda_driver.h"
#include "clients/data/data_format.h"
#include "clients/data/data_warnings.h"
#include "clients/exported/ends.h"
#include "clients/models/model_plan.h"
#include "sim/config/root_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fedhive::sim {

namespace {

/// True if the number of classes is inferred from the training labels.
bool counts_classes(const DataConfig& config) {
    return config.values.find("classes") != nullptr && config.values.integer("classes") == 0;
}

/// True for an operation that uses large values unscaled. Others may scale them first, as a network does that begins with x /
/// 255.
bool takes_values_as_they_are(const std::string& operation) {
    constexpr std::array kPlain{std::to_array<std::string_view>(
        {"addmm", "conv1d", "conv2d", "conv3d", "gru", "linear", "lstm", "matmul", "max_pool2d", "mm"})};
    return std::ranges::find(kPlain, operation) != kPlain.end();
}

/// True if the model begins with a norm, or with arithmetic on its input.
bool normalizes_input(const clients::ModelSpec& model) {
    if (model.exported.given()) {
        const std::set<std::string> first = first_operations(clients::program_of(model).graph);
        return !std::ranges::all_of(first, takes_values_as_they_are);
    }
    using clients::LayerKind;
    for (const clients::PlannedLayer& layer : clients::plan_model(model))
        if (layer.kind != LayerKind::Flatten)
            return layer.kind == LayerKind::BatchNorm || layer.kind == LayerKind::GroupNorm ||
                   layer.kind == LayerKind::LayerNorm;
    return false;
}

bool ends_in_softmax(const clients::ModelSpec& model) {
    return model.exported.given() && model.target.kind != clients::TargetKind::Numbers &&
           last_operation(clients::program_of(model).graph) == "softmax";
}

}  // namespace

std::string delta_warning(const RunConfig& config) {
    const double least = 1.0 / static_cast<double>(config.num_clients());
    if (config.privacy.delta.value_or(0.0) < least) return "";
    return fmt::format(
        "privacy.delta: {} is not below 1 / clients = {:.3g}, so the guarantee holds for a server that publishes "
        "one client's update; use a much smaller number",
        *config.privacy.delta, least);
}

std::string root_warning(const RunConfig& config) {
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(config.strategy.parts.aggregator.name);
    if (!config.data.root_examples || rule.root) return "";
    return fmt::format(
        "data.root_examples: nobody trains on the server's {} examples, because aggregator '{}' does not use them; {} do",
        *config.data.root_examples, rule.name, aggregators_with_root());
}

std::string device_warning(Device asked, const clients::ModelSpec& model) {
    if (asked != Device::Auto || !model.exported.given() || model.is_graph() || aggregation::cuda_versions().devices == 0)
        return "";
    return "device: auto takes the CPU for a model.file; this one is a list of layers, which device: cuda trains on the GPU";
}

std::vector<clients::DataWarning> data_warnings(const DataConfig& config, const clients::Dataset& dataset) {
    std::vector<clients::DataWarning> warnings = dataset.warnings;
    const auto add = [&](const std::vector<clients::DataWarning>& more) {
        warnings.insert(warnings.end(), more.begin(), more.end());
    };
    if (counts_classes(config)) add(clients::missing_classes(dataset));
    if (config.normalize.std.empty()) add(clients::large_values(dataset.train));
    // The format's own key, if its files have another one than `train`.
    const std::string blamed = clients::data_format(config.format).blamed;
    for (clients::DataWarning& warning : warnings)
        if (config.values.find(warning.key) == nullptr && warning.key == "train" && !blamed.empty()) warning.key = blamed;
    return warnings;
}

std::vector<std::string> all_warnings(const std::vector<clients::DataWarning>& of_data, const clients::ModelSpec& model) {
    std::vector<std::string> lines;
    for (const clients::DataWarning& warning : of_data)
        if (warning.key != "normalize" || !normalizes_input(model))
            lines.push_back(fmt::format("data.{}: {}", warning.key, warning.text));
    if (ends_in_softmax(model))
        lines.emplace_back(
            "model.file: the network ends with a softmax, but the loss applies another softmax; let the network return logits, "
            "without softmax");
    return lines;
}

}  // namespace fedhive::sim
