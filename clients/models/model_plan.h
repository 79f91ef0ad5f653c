// What a model's list of layers amounts to on examples of a shape: shapes, names, parameters, operations. All else follows from it, without
// LibTorch in sight.
#pragma once

#include "aggregation/base/error.h"
#include "clients/exported/program.h"
#include "clients/models/catalog.h"
#include "clients/models/layer_kind.h"

namespace fedhive::clients {

struct PlannedLayer {
    const LayerKind* kind = nullptr;
    Values arguments{};
    std::string number;  // its place in the list: "3", or "3.1" in the residual with number 3, "3.shortcut.1" in its shortcut
    std::string name;    // its parameters are name.weight, name.bias; the number where the list names nothing
    Shape in;
    LayerFit fit{};                        // of a residual, the sum alone
    std::vector<PlannedLayer> residual{};  // the layers in it
    std::vector<PlannedLayer> shortcut{};  // and those that its input passes before it is added; none: it is added as it is

    bool has_parameters() const;
};

/// A layer that does not fit what comes in.
struct LayerMisfit : ConfigError {
    LayerMisfit(const std::string& problem, std::string layer_path) : ConfigError(problem), path(std::move(layer_path)) {}
    std::string path;  // in the config, below model.layers: "[3]", "[3].residual[1]" or "[3].shortcut[0]"
};

/// What the first layer gets of an example: [channels, height, width], or [tokens].
Shape input_shape(const ExampleShape& example);
std::string text_of(const ExampleShape& example);  // "3 x 32 x 32", "80 tokens of 65"

/// Layer by layer. Throws LayerMisfit, with number and kind of the layer, the shape that comes in and what it needs, or where the last one
/// does not give a score for each class. Of a graph that is run as layers, these; of one that is not, nothing: it has none.
std::vector<PlannedLayer> plan_model(const ModelSpec& spec);

/// Why the graph of model.file is no list of layers, or of other tensors than the file's, in another order: the first operation in the way, or
/// tensor. Empty: as layers it computes the same function of the same parameters, and spec.as_layers may say so.
std::string kept_as_graph(const ModelSpec& spec, const exported::Program& program);

/// Parameters, frozen ones too. A double: what is asked for may be more than can be counted. Throws as plan_model().
double num_parameters(const ModelSpec& spec);
double num_parameters(const PlannedLayer& layer);

/// The frozen ones alone.
double num_frozen(const ModelSpec& spec);

/// Of a forward pass over one example (LayerFit::flops).
double num_flops(const PlannedLayer& layer);

/// Values of one example between the layers: what all of them give together, and the most that one gives. Of a graph nobody knows: 0.
struct Activations {
    double all = 0.0;
    double largest = 0.0;
};
Activations activations_of(const ModelSpec& spec);

/// Calls visit(layer) for each layer that a residual holds, those of its shortcut last.
template <typename Visit>
void for_each_within(const PlannedLayer& layer, const Visit& visit) {
    for (const PlannedLayer& inner : layer.residual) visit(inner);
    for (const PlannedLayer& inner : layer.shortcut) visit(inner);
}

/// Calls visit(name, tensor) for each parameter of the layers, frozen or not, or for each buffer: "conv1.weight", "conv1.bias", "3.1.weight", …
template <typename Visit>
void for_each_of(std::vector<Parameter> LayerFit::*tensors, const std::vector<PlannedLayer>& layers, const Visit& visit) {
    for (const PlannedLayer& layer : layers) {
        for (const Parameter& tensor : layer.fit.*tensors) visit(layer.name + "." + tensor.name, tensor);
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

/// The graph of model.file, with what is frozen in it.
exported::Program program_of(const ModelSpec& spec);

/// Tensors of a graph's state_dict that are not in whole_layout(); none of a list of layers.
std::vector<exported::OtherTensor> other_tensors(const ModelSpec& spec);

/// The first layer with buffers, in a residual or not; null: none has.
const PlannedLayer* layer_with_buffers(const std::vector<PlannedLayer>& layers);

}  // namespace fedhive::clients
