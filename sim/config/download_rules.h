// Rules about the chain that compresses what the server sends. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// Throws ConfigError through `source`.
void check_download(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
