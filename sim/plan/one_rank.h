// What works in one coordinator only, and is refused where there are several ranks.
#pragma once

#include "aggregation/memory/param_span.h"
#include "sim/config/config.h"
#include "sim/modes/mode.h"

namespace fedhive::sim {

/// Throws ConfigError, with file and line: a mode whose clients work together or by steps, or whose order of arrival is not known before; a GPU.
void refuse_what_needs_one_rank(const LoadedConfig& loaded, const Mode& mode, aggregation::MemorySpace space);

}  // namespace fedhive::sim
