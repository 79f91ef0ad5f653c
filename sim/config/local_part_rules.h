// Rules about a part of the model that is each client's own (model.local). Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// Throws ConfigError through `source`.
void check_local_part(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
