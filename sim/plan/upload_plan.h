// The upload chain of a config.
#pragma once

#include "clients/uploads/upload.h"
#include "sim/config/run_config.h"

#include <cstdint>

namespace fedhive::sim {

/// With the norm of adaptive_clip in its first round, and the noise that the updates get (multiplier_of_updates()).
clients::UploadPlan upload_plan(const RunConfig& run, std::uint64_t num_clients);

}  // namespace fedhive::sim
