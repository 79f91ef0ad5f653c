// What `fedhive partition` prints: how a config deals its training examples to clients.
#pragma once

#include "sim/plan/experiment_data.h"

#include <string>

namespace fedhive::sim {

/// A row a client with its examples of each label, the first few of many clients and the most frequent label in place of many; then sizes,
/// labels and skew over all clients, and fingerprints.
std::string partition_table(const RunConfig& run, const ExperimentData& data);

}  // namespace fedhive::sim
