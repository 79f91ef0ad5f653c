// The JSON of a graph (schema 8 of torch.export's serialisation) as plain structs.
#pragma once

#include "clients/exported/graph.h"

#include <nlohmann/json_fwd.hpp>

namespace fedhive::clients::exported {

/// Throws ConfigError for a kind of argument that is not known, graphs in graphs in graphs, or too many nodes; nlohmann's exceptions for what is no
/// graph at all.
Graph graph_of(const nlohmann::json& json);

}  // namespace fedhive::clients::exported
