// The plan of a model: shapes, names, parameters and FLOPs of its layers for examples of a given shape. Layouts, engines and
// estimates follow from it. Without LibTorch.
#pragma once

#include "aggregation/base/error.h"
#include "clients/exported/program.h"
#include "clients/models/catalog.h"
#include "clients/models/layer_kind.h"

#include <set>

namespace fedhive::clients {

struct PlannedLayer {
    LayerKind kind = LayerKind::Linear;
    Values arguments{};
    std::string number;  // its place in the list: "3", or "3.1" in the residual with number 3, "3.shortcut.1" in its shortcut
    std::string name;    // prefix of its parameters (name.weight, name.bias); the number if the list gives no name
    Shape in;
    LayerFit fit{};                        // of a residual: that of its sum, without the layers inside
    std::vector<PlannedLayer> residual{};  // layers inside a residual
    std::vector<PlannedLayer> shortcut{};  // layers of its shortcut; empty: the input is added unchanged

    const LayerSpec& spec() const { return layer_spec(kind); }
    bool has_parameters() const;

    /// Whole name of one of its tensors.
    std::string name_of(const Parameter& tensor) const { return tensor.path.empty() ? name + "." + tensor.name : tensor.path; }

    /// One of its tensors by the layer's name for it; null if it has none.
    const Parameter* find_tensor(const std::string& tensor) const;
};

/// Thrown for a layer that does not fit its input.
struct LayerMisfit : ConfigError {
    LayerMisfit(const std::string& problem, std::string layer_path) : ConfigError(problem), path(std::move(layer_path)) {}
    std::string path;  // in the config, below model.layers: "[3]", "[3].residual[1]" or "[3].shortcut[0]"
};

/// Shape of an example at the first layer: [channels, height, width] or [tokens].
Shape input_shape(const ExampleShape& example);
std::string text_of(const ExampleShape& example);  // "3 x 32 x 32", "80 tokens of 65"

/// The model's layers with their shapes and tensors; for a graph, the layers that compute the same, or none if it runs as a graph. Throws
/// LayerMisfit with the layer's number and kind, its input's shape and the required one, also if the last layer does not give one score
/// for each class.
std::vector<PlannedLayer> plan_model(const ModelSpec& spec);

/// Why the graph of model.file cannot run as layers: the first operation that no layer computes, or the first tensor that
/// differs from the layers' in name, shape or order. Empty: as layers it computes the same function of the same parameters, and
/// spec.as_layers may be set.
std::string kept_as_graph(const ModelSpec& spec, const exported::Program& program);

/// Number of parameters, including frozen ones. A double, since a config may ask for more than an
/// integer can count. Throws as plan_model().
double num_parameters(const ModelSpec& spec);
double num_parameters(const PlannedLayer& layer);

/// Number of frozen parameters.
double num_frozen(const ModelSpec& spec);

/// FLOPs of a forward pass over one example (LayerFit::flops).
double num_flops(const PlannedLayer& layer);

/// Numbers of values that training keeps of one example; 0 for a graph, for which they are unknown.
struct Activations {
    double all = 0.0;      // all layers' outputs, and what they keep besides (LayerFit::kept)
    double largest = 0.0;  // the largest output
    double gradients =
        0.0;  // outputs of layers whose backward pass takes a whole batch: on sequences, and with batch norm; others take few examples
};
Activations activations_of(const ModelSpec& spec);

/// Calls visit(layer) for each layer in a residual, those of its shortcut last.
template <typename Visit>
void for_each_within(const PlannedLayer& layer, const Visit& visit) {
    for (const PlannedLayer& inner : layer.residual) visit(inner);
    for (const PlannedLayer& inner : layer.shortcut) visit(inner);
}

/// Calls visit(name, tensor) for each parameter of the layers, frozen or not, or for each buffer:
/// "conv1.weight", "conv1.bias", "3.1.weight", …
template <typename Visit>
void for_each_of(std::vector<Parameter> LayerFit::*tensors, const std::vector<PlannedLayer>& layers, const Visit& visit) {
    for (const PlannedLayer& layer : layers) {
        for (const Parameter& tensor : layer.fit.*tensors) visit(layer.name_of(tensor), tensor);
        for_each_of(tensors, layer.residual, visit);
        for_each_of(tensors, layer.shortcut, visit);
    }
}

/// All tensors, in the order of whole_layout(): parameters, then buffers.
template <typename Visit>
void for_each_tensor(const std::vector<PlannedLayer>& layers, const Visit& visit) {
    for_each_of(&LayerFit::parameters, layers, visit);
    for_each_of(&LayerFit::buffers, layers, visit);
}

/// The layout of all tensors of these layers, parameters before buffers.
aggregation::Layout whole_layout(const std::vector<PlannedLayer>& layers);

/// The graph of model.file, with its frozen tensors marked.
exported::Program program_of(const ModelSpec& spec);

/// Tensors of a graph's state_dict that are not in whole_layout(); none for a list of layers.
std::vector<exported::OtherTensor> other_tensors(const ModelSpec& spec);

/// Names of the parameters that key `lora` adds, which a model without it lacks.
std::set<std::string> low_rank_factors(const ModelSpec& spec);

/// The first layer with buffers, also inside residuals; null if there is none.
const PlannedLayer* layer_with_buffers(const std::vector<PlannedLayer>& layers);

}  // namespace fedhive::clients
