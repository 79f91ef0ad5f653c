// The global model's quality on the test set.
#pragma once

#include "sim/fleet/fleet.h"
#include "sim/state/server_state.h"

namespace fedhive::sim {

struct Metrics {
    double test_loss = 0.0;      // mean cross-entropy per example
    double test_accuracy = 0.0;  // fraction
};

/// Evaluated by the workers in chunks of fixed size; sums are taken over chunks in order, so no metric depends on the number of workers.
Metrics evaluate(Fleet& fleet, const ServerState& server, std::uint64_t num_test);

}  // namespace fedhive::sim
