// Features that work with one coordinator only, and are refused with several ranks.
#pragma once

#include "sim/config/loaded_config.h"
#include "sim/modes/mode.h"
#include "sim/ranks/ranks.h"

namespace fedhive::sim {

/// Throws ConfigError, with file and line, for a mode whose clients work together or by steps, or whose order of arrival is not
/// known beforehand.
void refuse_what_needs_one_rank(const LoadedConfig& loaded, const Mode& mode);

/// Call after ranks have named their devices. Throws ConfigError if `mps: on` would start two of its daemons on one GPU.
void refuse_mps_of_several(const LoadedConfig& loaded, const Ranks& ranks);

}  // namespace fedhive::sim
