#include "sim/plan/model_spec.h"

#include "clients/models/model_plan.h"
#include "sim/modes/mode_spec.h"

#include <fmt/ranges.h>

namespace fedhive::sim {

namespace {

/// Running statistics travel with the model or its update. Throws ConfigError where neither is sent, where differences from older models are added,
/// or where many clients share a pass.
void check_buffers(const LoadedConfig& loaded, const std::vector<clients::PlannedLayer>& plan) {
    const clients::PlannedLayer* layer = clients::layer_with_buffers(plan);
    if (layer == nullptr) return;
    const std::string keeps =
        fmt::format("layer {} ({}) of the model keeps running statistics", layer->number, layer->kind->name);
    const RunConfig& run = loaded.run;
    if (!mode_spec(run.mode.name).averages_buffers) {
        std::vector<std::string> modes;
        for (const ModeSpec& mode : mode_catalog())
            if (mode.averages_buffers) modes.push_back(mode.name);
        throw loaded.source->error("mode.name", fmt::format("{}, which mode '{}' cannot average; allowed: {}; or take "
                                                            "group_norm, which keeps none",
                                                            keeps, run.mode.name, fmt::join(modes, ", ")));
    }
    if (run.training.clients_at_once > 1)
        throw loaded.source->error(
            "training.clients_at_once",
            fmt::format(
                "{}, of which clients trained at once would share one; allowed: 1; or take group_norm, which keeps none",
                keeps));
}

}  // namespace

clients::DataShape data_shape(const LoadedConfig& loaded) {
    const DataConfig& data = loaded.run.data;
    const clients::DataFormat& format = clients::data_format(data.format);
    try {
        return format.shape(completed(data.values, format.keys));
    } catch (const ConfigError& error) {
        throw loaded.source->error("data." + (format.blamed.empty() ? "format" : format.blamed), error.what());
    }
}

std::string model_key(const RunConfig& run) { return run.model.layers.empty() ? "model.name" : clients::kListedModel; }

clients::ModelSpec model_spec(const LoadedConfig& loaded, const clients::DataShape& data) {
    const ModelConfig& model = loaded.run.model;
    clients::ModelSpec spec;
    std::vector<clients::PlannedLayer> plan;
    try {
        if (model.layers.empty()) {
            spec = clients::named_model(model.name, data.example, data.num_classes, model.values);
        } else {
            spec.name.set(clients::kListedModel);
            spec.input = data.example;
            spec.num_classes = data.num_classes;
            spec.layers = model.layers;
        }
        plan = clients::plan_model(spec);
    } catch (const clients::LayerMisfit& misfit) {
        throw loaded.source->error(model_key(loaded.run) + (model.layers.empty() ? "" : misfit.path), misfit.what());
    } catch (const ConfigError& error) {
        throw loaded.source->error(model_key(loaded.run), error.what());
    }
    check_buffers(loaded, plan);
    return spec;
}

}  // namespace fedhive::sim
