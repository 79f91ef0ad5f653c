// A model as JSON for Python: its tensors in the flat vector, and its layers. scripts/lib/fedhive/modules.py builds PyTorch modules from them.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/models/model_plan.h"

#include <nlohmann/json_fwd.hpp>

namespace fedhive::clients {

/// [[name, offset, size, shape], …]; offset and size in floats.
nlohmann::json tensors_as_json(const aggregation::Layout& layout);

/// [{"kind": "linear", "name": prefix of its tensors' names, "in": shape, "arguments": {key: value}}, …]; a residual has "residual" and
/// perhaps "shortcut", lists of layers. Empty for a model that runs as a graph.
nlohmann::json layers_as_json(const ModelSpec& spec);

/// Whether each layer's parameters are those of its module: an exported attention may have other ones.
bool has_modules(const ModelSpec& spec);

}  // namespace fedhive::clients
