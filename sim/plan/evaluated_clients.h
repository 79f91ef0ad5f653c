// On whose held-out examples models are evaluated.
#pragma once

#include "clients/data/shared_dataset.h"
#include "sim/config/config.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// The clients that hold something out, or as many of them as evaluation.clients.sample says, drawn once for the whole run; ascending. None
/// where nobody is evaluated. Throws ConfigError where no client holds anything out.
std::vector<std::uint32_t> evaluated_clients(const LoadedConfig& loaded, const clients::SharedDataset& dataset);

}  // namespace fedhive::sim
