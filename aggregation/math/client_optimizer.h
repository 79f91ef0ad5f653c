// What a client takes its local steps with, by name: each optimiser lies in a file of its own, with its keys. To add one: write its file, add
// its line to client_optimizer.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/vector_ops.h"

#include <optional>
#include <string>
#include <vector>

namespace fedhive::aggregation {

struct OptimizerSpec {
    std::string name;
    std::string summary;  // what it does: half a line
    std::vector<KeySpec> keys;
    /// Of values that are right each by itself; null: nothing can be wrong.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// `values`: of all its keys.
    SgdOptions (*build)(const Values& values) = nullptr;
};

/// All optimisers of clients, in the order of REFERENCE.md.
const std::vector<OptimizerSpec>& optimizer_catalog();

/// The name must exist.
const OptimizerSpec& optimizer_spec(const std::string& name);

}  // namespace fedhive::aggregation
