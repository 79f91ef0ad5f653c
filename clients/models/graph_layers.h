// A graph of torch.export as a list of layers, where every operation of it is what a layer computes. Decided by the graph and the shape of its
// examples alone, without LibTorch in sight.
#pragma once

#include "clients/exported/program.h"
#include "clients/models/graph_call.h"
#include "clients/models/layer_kind.h"
#include "clients/models/layer_list.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct GraphLayers {
    std::vector<ListedLayer> entries;  // as a LayerList has them, however many
    std::vector<std::string> names;    // of each, what its parameters' names begin with: the module's; empty: it has none
};

/// The layers that compute what the graph does, in training and in evaluation, of examples of shape `input` (as layers get them).
///
/// Throws   NoLayer for a graph that layers do not compute: the first operation in the way, and why. Of what follows from the list, whether it fits
///          the data and has the file's parameters in the file's order, nothing is known here (model_plan.h).
/// Differs  a dropout's probability is an f32, as in any list of layers.
GraphLayers layers_of_graph(const exported::Program& program, const Shape& input);

}  // namespace fedhive::clients
