// The global model's quality on the test set, and on what clients hold out.
#pragma once

#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"

namespace fedhive::sim {

/// Evaluated by the workers in chunks of fixed size; sums are taken over chunks in order, so no metric depends on the number of workers.
Metrics evaluate(Fleet& fleet, const ServerState& server, std::uint64_t num_test);

/// Of each of the run's evaluated clients, of which there is one at least; by the workers, a range of clients after the other. A client's sums
/// are its own, so neither here does the number of workers show.
ClientsTest evaluate_clients(Fleet& fleet, const Experiment& run);

}  // namespace fedhive::sim
