// From a list of layers to operations: which layers are fused, and how values are stored between them.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/op.h"
#include "clients/models/catalog.h"

#include <string>

namespace fedhive::clients::direct {

/// Why this engine cannot train the model: the layer, in words that follow "the direct engine has no "; empty where it can.
std::string misfit(const ModelSpec& spec);

struct NetworkPlan {
    Chain images;    // layers before the first flatten
    Chain features;  // the other layers; either chain may be empty
};

/// Operations for passes with these kernels. Throws ConfigError as Network does.
NetworkPlan make_plan(const ModelSpec& spec, const aggregation::Layout& layout, const aggregation::Layout& frozen,
                      const Kernels& kernels);

}  // namespace fedhive::clients::direct
