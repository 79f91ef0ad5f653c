// The global model's quality on the test set.
#pragma once

#include "sim/fleet/fleet.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"

namespace fedhive::sim {

/// Evaluated by the workers in chunks of fixed size; sums are taken over chunks in order, so no metric depends on the number of workers.
Metrics evaluate(Fleet& fleet, const ServerState& server, std::uint64_t num_test);

}  // namespace fedhive::sim
