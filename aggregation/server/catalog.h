// The server optimisers that a config can name as `strategy.server`. Each is one file of this folder: the formulas of its paper's
// box as text. To add one: write its file, add its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/formulas/method_formulas.h"

#include <string>
#include <vector>

namespace fedhive::aggregation {

/// A server optimiser by its name, and its properties.
struct ServerOptimizerSpec {
    std::string name;
    std::string summary;       // what it does, and its source: half a line
    bool replaceable = false;  // plain averaging, which a mode may replace by its own rule
    bool tree_noise = false;   // the aggregates get the noise of a binary tree, which the server draws
    bool adaptive = false;     // the rate sets the length of its own step; else rate 1 adds the aggregate unchanged
    std::vector<KeySpec> keys{};
    /// The next model w and the server's memories, by w, `direction` and keys. `direction` is the aggregate u, or what a local rule
    /// makes of it. `values` must have all keys.
    formulas::MethodFormulas (*formulas)(const Values& values) = nullptr;
};

/// All server optimisers that a config can name, in the order of REFERENCE.md.
const std::vector<ServerOptimizerSpec>& server_optimizer_catalog();

/// The name must exist. "formula", which a config cannot name, stands for the server of a method file.
const ServerOptimizerSpec& server_optimizer_spec(const std::string& name);

/// The server's formulas of a round: those of `rule`, of a local rule and its memories, then the optimiser's. `direction` is u unless
/// the rule sets it. `values` must have all keys of the optimiser.
formulas::MethodFormulas server_formulas(formulas::MethodFormulas rule, const ServerOptimizerSpec& optimizer,
                                         const Values& values);

/// The key server_lr of optimisers that add the aggregate: 1 is plain averaging.
KeySpec averaging_rate();

}  // namespace fedhive::aggregation
