// The clients on whose held-out examples models are evaluated.
#pragma once

#include "clients/data/shared_dataset.h"
#include "sim/config/loaded_config.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// The clients with held-out examples, or a sample of evaluation.clients.sample of them, drawn once for the whole run;
/// ascending. Empty if there is no such evaluation. Throws ConfigError if no client holds anything out.
std::vector<std::uint32_t> evaluated_clients(const LoadedConfig& loaded, const clients::SharedDataset& dataset);

}  // namespace fedhive::sim
