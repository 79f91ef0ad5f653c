// Small named models for steps, and lists of layers.
#pragma once

#include "clients/models/catalog.h"

#include <algorithm>

namespace fedhive::testing {

/// Named models that suites of steps, modes and strategies train. They cover every way of computing a named model; the others
/// consist of the same layers and are tested by parameter count and one PyTorch step.
inline constexpr const char* kTrainedModels[] = {"lr", "mlp", "mnist_cnn", "cnn_m"};

/// 16 units per hidden layer if the model has such a key; no dropout unless requested.
inline clients::ModelSpec small_model(std::string_view name, const clients::ExampleShape& input, std::int64_t num_classes,
                                      bool dropout = false, const clients::TargetShape& target = {}) {
    const auto model = std::ranges::find(clients::model_catalog(), name, &clients::NamedModel::name);
    fedhive::Values values;
    for (const KeySpec& key : model->keys) {
        if (key.name == "hidden") values.set("hidden", std::int64_t{16});
        if (key.name == "dropout") values.set("dropout", dropout);
    }
    return clients::named_model(name, input, num_classes, values, target);
}

/// A model that a config gives as a list of layers.
inline clients::ModelSpec listed_model(const clients::LayerList& layers, const clients::ExampleShape& input = {1, 28, 28},
                                       std::int64_t num_classes = 10, const clients::TargetShape& target = {}) {
    clients::ModelSpec spec;
    spec.name.set(clients::kListedModel);
    spec.input = input;
    spec.num_classes = num_classes;
    spec.layers = layers;
    spec.target = target;
    return spec;
}

/// The same with `numbers` numeric targets.
inline clients::ModelSpec listed_regression(const clients::LayerList& layers, const clients::ExampleShape& input,
                                            std::uint32_t numbers) {
    return listed_model(layers, input, 0, {clients::TargetKind::Numbers, numbers});
}

}  // namespace fedhive::testing
