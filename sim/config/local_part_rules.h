// Rules about a part of the model that is each client's own (model.local). Private to sim/config.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

/// keeps_state: the part of the strategy that has client state, if any. Throws ConfigError through `source`.
void check_local_part(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
