// Rules about colluding attackers, and which keys may be combined with them. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

namespace fedhive::sim {

/// Throws ConfigError through `source`.
void check_attack(const RunConfig& run, const ConfigSource& source);

}  // namespace fedhive::sim
