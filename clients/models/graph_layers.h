// Converts a graph of torch.export into a list of layers, if layers compute all of its operations. The result depends on the
// graph and the shape of its examples only. Without LibTorch.
#pragma once

#include "clients/exported/program.h"
#include "clients/models/graph_call.h"
#include "clients/models/layer_kind.h"
#include "clients/models/layer_list.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct GraphLayers {
    std::vector<ListedLayer> entries;  // as in a LayerList, without its limit
    std::vector<std::string> names;    // prefix of each entry's parameter names, its module's name; empty: no parameters
    std::vector<std::vector<Parameter>>
        tensors;  // of entries whose parameters do not follow that rule, or that have others than the kind
};

/// The layers that compute the same as the graph, in training and in evaluation, for examples
/// of shape `input` (as layers get them).
///
/// Throws   NoLayer for a graph that layers cannot compute: the first operation that prevents it, and why. Does not check
///          whether the list fits the data and has the file's parameters in the file's order (model_plan.h does).
/// Differs  a dropout's probability is an f32, as in any list of layers.
GraphLayers layers_of_graph(const exported::Program& program, const Shape& input);

}  // namespace fedhive::clients
