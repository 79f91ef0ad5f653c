// Makes a network's operations from a model's list of layers: which layers are fused into one operation, and how values are stored between
// operations.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/op.h"
#include "clients/models/catalog.h"

#include <string>

namespace fedhive::clients::direct {

/// Why the direct engine cannot train the model: its first unknown layer, in words that follow "the direct engine has no ". Empty if it can.
std::string misfit(const ModelSpec& spec);

struct NetworkPlan {
    Chain
        images;  // layers of images that examples pass in groups: those before the first flatten and before the first wide layer
    Chain features;  // the other layers, which the whole batch passes; either chain may be empty
};

/// The model's operations, for passes with these kernels. Throws ConfigError as Network does.
NetworkPlan make_plan(const ModelSpec& spec, const aggregation::Layout& layout, const aggregation::Layout& frozen,
                      const Kernels& kernels);

}  // namespace fedhive::clients::direct
