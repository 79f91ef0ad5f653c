// What goes together with a part of the model that is each client's own (model.local). Private to sim/config.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

/// keeps_state: the part of the strategy by which clients keep something, where there is one. Throws ConfigError through `source`.
void check_local_part(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
