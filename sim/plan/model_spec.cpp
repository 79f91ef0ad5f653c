#include "sim/plan/model_spec.h"

#include "clients/models/model_plan.h"

namespace fedhive::sim {

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
    try {
        if (model.layers.empty()) {
            spec = clients::named_model(model.name, data.example, data.num_classes, model.values);
        } else {
            spec.name.set(clients::kListedModel);
            spec.input = data.example;
            spec.num_classes = data.num_classes;
            spec.layers = model.layers;
        }
        clients::plan_model(spec);
        return spec;
    } catch (const clients::LayerMisfit& misfit) {
        throw loaded.source->error(model_key(loaded.run) + (model.layers.empty() ? "" : misfit.path), misfit.what());
    } catch (const ConfigError& error) {
        throw loaded.source->error(model_key(loaded.run), error.what());
    }
}

}  // namespace fedhive::sim
