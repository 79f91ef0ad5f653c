// From a list of layers to operations: which layers are done as one, and how values lie between them.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/op.h"
#include "clients/models/catalog.h"

namespace fedhive::clients::direct {

struct Plan {
    Chain images;    // to the first flatten
    Chain features;  // the rest; either may have no operations
};

/// Throws ConfigError as Network does.
Plan make_plan(const ModelSpec& spec, const aggregation::Layout& layout);

}  // namespace fedhive::clients::direct
