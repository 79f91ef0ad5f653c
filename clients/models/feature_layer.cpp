#include "clients/models/feature_layer.h"

#include "clients/models/model_plan.h"

#include <fmt/format.h>

#include <vector>

namespace fedhive::clients {

FeatureLayer feature_layer(const ModelSpec& spec) {
    if (spec.is_graph()) return {0, "is a graph that does not run as layers, so it has no last layer"};
    const std::vector<PlannedLayer> layers = plan_model(spec);
    const PlannedLayer* last = nullptr;
    std::size_t with_parameters = 0;
    for (const PlannedLayer& layer : layers) {
        if (!layer.has_parameters()) continue;
        last = &layer;
        ++with_parameters;
    }
    if (last == nullptr) return {0, "has no layer with parameters"};
    if (last->kind != LayerKind::Linear || last->in.size() != 1)
        return {0, fmt::format("ends with {} (layer {}), whose input is not a vector of features; end it with a linear layer",
                               name_of(last->kind), last->number)};
    if (with_parameters < 2)
        return {0,
                fmt::format("has only one layer with parameters (layer {}), whose input is the example itself", last->number)};
    return {static_cast<std::size_t>(num_values(last->in)), ""};
}

}  // namespace fedhive::clients
