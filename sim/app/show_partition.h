// The output of `fedhive partition`: how a config's training examples are dealt to clients.
#pragma once

#include "sim/plan/experiment_data.h"

#include <string>

namespace fedhive::sim {

/// A row per client with its examples of each label (for many clients the first few, for many labels only the most frequent
/// one); then sizes, labels and skew over all clients, and fingerprints.
std::string partition_table(const RunConfig& run, const ExperimentData& data);

}  // namespace fedhive::sim
