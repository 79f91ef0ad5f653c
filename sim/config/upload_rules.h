// Rules about an upload chain, and which keys may be combined with it. Private to sim/config.
#pragma once

#include "sim/config/loaded_config.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Checks that steps which compress come last, and steps which leave values out before those which round. refuse: throws.
void check_compression(const std::vector<Chosen>& steps, const std::function<void(const std::string&)>& refuse);

/// keeps_state: the part of the strategy that has client state, if any. Throws ConfigError through `source`.
void check_upload(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source);

}  // namespace fedhive::sim
