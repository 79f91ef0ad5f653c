#include "clients/models/cut.h"

#include "aggregation/base/error.h"
#include "clients/models/model_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace fedhive::clients {

namespace {

/// Names of the layers with parameters, after which a cut is possible.
std::vector<std::string> names_of(const std::vector<PlannedLayer>& plan) {
    std::vector<std::string> names;
    for (const PlannedLayer& layer : plan)
        if (layer.has_parameters()) names.push_back(layer.name);
    return names;
}

/// Number of values per example after the first `num_layers` layers with parameters and the parameterless layers that follow.
double floats_after(const std::vector<PlannedLayer>& plan, std::size_t num_layers) {
    std::size_t seen = 0;
    double floats = 0.0;
    for (const PlannedLayer& layer : plan) {
        seen += layer.has_parameters() ? 1 : 0;
        if (seen > num_layers) break;
        floats = num_values(layer.fit.out);
    }
    return floats;
}

/// Number of the client's layers with parameters in a cut after `layer`.
std::size_t layers_below(const std::string& model, const std::vector<std::string>& layers, std::string_view layer) {
    if (layers.size() < 2)
        throw ConfigError(fmt::format("{} cannot be cut, because it has only one layer: {}", model, layers.front()));
    const std::string possible = fmt::format("{}", fmt::join(layers.begin(), layers.end() - 1, ", "));
    const auto found = std::find(layers.begin(), layers.end(), layer);
    if (found == layers.end()) throw ConfigError(fmt::format("{} has no layer '{}'; allowed: {}", model, layer, possible));
    if (found + 1 == layers.end())
        throw ConfigError(fmt::format("'{}' is the last layer of {}, so no layer is left for the server; allowed: {}", layer,
                                      model, possible));
    return static_cast<std::size_t>(found - layers.begin()) + 1;
}

/// Offset in floats of the first tensor of layer `num_layers`. Throws ConfigError if a tensor of an earlier layer follows it, as in a
/// file of torch.export whose modules are declared in another order than forward uses them.
std::size_t offset_of(const aggregation::Layout& layout, const std::vector<PlannedLayer>& plan, std::size_t num_layers) {
    std::map<std::string, std::size_t> layer_of;
    std::size_t layers = 0;
    for (const PlannedLayer& layer : plan) {
        if (!layer.has_parameters()) continue;
        for_each_of(&LayerFit::parameters, {layer},
                    [&](const std::string& name, const Parameter&) { layer_of[name] = layers; });
        ++layers;
    }
    std::size_t offset = layout.num_floats();
    std::size_t layer_before = 0;
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        if (entry.kind == aggregation::TensorKind::Buffer)
            throw Fault(fmt::format("a model with buffers cannot be cut: '{}'", entry.name));
        const auto found = layer_of.find(entry.name);
        FEDHIVE_CHECK(found != layer_of.end(), "'{}' belongs to no layer", entry.name);
        if (found->second < layer_before)
            throw ConfigError(
                fmt::format("cannot be cut: '{}' is in the file behind the parameters of a later layer; declare modules "
                            "in the order in which forward uses them",
                            entry.name));
        if (found->second >= num_layers) offset = std::min(offset, entry.offset);
        layer_before = found->second;
    }
    FEDHIVE_CHECK(offset > 0 && offset < layout.num_floats(), "one half of the model has no parameters");
    return offset;
}

}  // namespace

std::vector<std::string> model_layers(const ModelSpec& spec) {
    if (spec.exported.given()) return exported::modules_of(exported::read_program(spec.exported));
    return names_of(plan_model(spec));
}

Cut cut_after(const ModelSpec& spec, const aggregation::Layout& layout, std::string_view layer) {
    const std::vector<PlannedLayer> plan = plan_model(spec);
    const std::vector<std::string> layers = names_of(plan);
    Cut cut;
    cut.num_layers = layers_below(spec.name.get(), layers, layer);
    cut.offset = offset_of(layout, plan, cut.num_layers);
    cut.activation_floats = static_cast<std::uint64_t>(floats_after(plan, cut.num_layers));
    return cut;
}

}  // namespace fedhive::clients
