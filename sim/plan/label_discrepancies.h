// How far clients' labels are from evenly spread.
#pragma once

#include "clients/data/shared_dataset.h"
#include "sim/config/loaded_config.h"

#include <vector>

namespace fedhive::sim {

/// d_k = |p_k − 1/C|, p_k the shares of the C labels among client k's training examples that count; by client, 0 for a client
/// without such examples. Throws ConfigError, which names the strategy, unless an example has one class label.
std::vector<double> label_discrepancies(const LoadedConfig& loaded, const clients::SharedDataset& dataset);

}  // namespace fedhive::sim
