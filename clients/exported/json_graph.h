// The JSON of a graph (schema 8 of torch.export's serialisation) as plain structs.
#pragma once

#include "clients/exported/graph.h"

#include <nlohmann/json_fwd.hpp>

namespace fedhive::clients::exported {

/// Throws ConfigError for an unknown kind of argument, graphs nested too deeply, or too many nodes; nlohmann's
/// exceptions for JSON that is no graph.
Graph graph_of(const nlohmann::json& json);

}  // namespace fedhive::clients::exported
