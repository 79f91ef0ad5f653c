// What goes together in an upload chain, and with it. Private to sim/config.
#pragma once

#include "sim/config/config.h"

namespace fedhive::sim {

/// keeps_state: the part of the strategy by which clients keep something, where there is one. Throws ConfigError through `source`.
void check_upload(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
