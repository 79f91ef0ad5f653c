// Rules about an upload chain and what goes with it. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Steps that compress come last; those that leave values out come before those that round the rest. refuse: throws.
void check_compression(const std::vector<Chosen>& steps, const std::function<void(const std::string&)>& refuse);

/// keeps_state: the part of the strategy that has client state, if any. Throws ConfigError through `source`.
void check_upload(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
