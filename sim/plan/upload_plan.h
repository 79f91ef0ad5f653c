// The chains of a config, up and down.
#pragma once

#include "clients/uploads/upload.h"
#include "sim/config/run_config.h"

#include <cstdint>

namespace fedhive::sim {

/// The upload chain, with adaptive_clip's norm of the first round and the noise that the updates get (multiplier_of_updates()).
clients::UploadPlan upload_plan(const RunConfig& run, std::uint64_t num_clients);

/// The chain that compresses the model that the server sends; without steps it is sent whole.
clients::UploadPlan download_plan(const RunConfig& run);

}  // namespace fedhive::sim
