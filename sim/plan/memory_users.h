// The parts of a run that have memories beside the model.
#pragma once

#include "aggregation/memory/memories.h"
#include "sim/config/run_config.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// A part of the run that has memories, the key that chooses it, and the advice to do without.
struct MemoryUser {
    std::vector<aggregation::MemorySpec> memories;
    const char* key;
    std::string who;
    const char* instead;
};

/// The strategy's local rule and its aggregator, the steps of the upload chain, the part of the model that is each client's own; those that have
/// memories, in this order.
std::vector<MemoryUser> memory_users(const RunConfig& run);

}  // namespace fedhive::sim
