// The server optimisers that a config can name as `strategy.server`. Each is one file of this folder, which holds the formulas of its
// paper as text. To add one: write its file, add its line to catalog.cpp.
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
    bool tree_noise = false;   // the server adds noise from a binary tree to the aggregates (DP-FTRL)
    bool adaptive = false;  // the step does not scale with the aggregate, as in Adam; else rate 1 adds the aggregate unchanged
    std::vector<KeySpec> keys{};
    /// The formulas that set the next model w and the server's memories, from w, `direction` and keys. `direction` is the aggregate u, or
    /// what the formulas of a local rule set it to. `values` must have all keys.
    formulas::MethodFormulas (*formulas)(const Values& values) = nullptr;
};

/// All server optimisers that a config can name, in the order of REFERENCE.md.
const std::vector<ServerOptimizerSpec>& server_optimizer_catalog();

/// The optimiser of that name, which must exist. "formula" is not for configs: it stands for the server of a method file.
const ServerOptimizerSpec& server_optimizer_spec(const std::string& name);

/// The server's formulas of a round: those of `rule`, a local rule's method with its memories, then the optimiser's. `direction` is the
/// aggregate u unless the rule sets it. `values` must have all keys of the optimiser.
formulas::MethodFormulas server_formulas(formulas::MethodFormulas rule, const ServerOptimizerSpec& optimizer,
                                         const Values& values);

/// The key server_lr of optimisers that add the aggregate: 1 is plain averaging.
KeySpec averaging_rate();

}  // namespace fedhive::aggregation
