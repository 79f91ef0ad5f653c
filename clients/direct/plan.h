// From a list of layers to operations: which layers are fused, and how values are stored between them.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/op.h"
#include "clients/models/catalog.h"

namespace fedhive::clients::direct {

struct Plan {
    Chain images;    // layers before the first flatten
    Chain features;  // the other layers; either chain may be empty
};

/// Throws ConfigError as Network does.
Plan make_plan(const ModelSpec& spec, const aggregation::Layout& layout);

}  // namespace fedhive::clients::direct
