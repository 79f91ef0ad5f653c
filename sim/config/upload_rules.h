// Rules about an upload chain and what goes with it. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// keeps_state: the part of the strategy that has client state, if any. Throws ConfigError through `source`.
void check_upload(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
