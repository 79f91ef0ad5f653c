// Plans a list of layers for a model's data: number, name, arguments, shapes and tensors of each layer.
#pragma once

#include "clients/models/model_plan.h"

#include <functional>
#include <span>

namespace fedhive::clients {

/// The planned layers of a list. Throws as plan_model(). names: for each entry, overrides the list's; empty: the list's own
/// names. tensors: for each entry, the paths and shapes of its tensors, for attention also which there are; empty: the layer's own.
std::vector<PlannedLayer> plan_layers(const ModelSpec& spec, std::span<const ListedLayer> entries,
                                      std::span<const std::string> names = {},
                                      std::span<const std::vector<Parameter>> tensors = {});

/// Freezes the parameters with frozen(name), and unfreezes the others.
void freeze(std::vector<PlannedLayer>& layers, const std::function<bool(const std::string&)>& frozen);

}  // namespace fedhive::clients
