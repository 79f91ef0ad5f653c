// Client state of all ranks, brought to rank 0.
#pragma once

#include "aggregation/memory/client_states.h"
#include "sim/ranks/ranks.h"

namespace fedhive::sim {

/// Collective, before a checkpoint: sets in rank 0's `states` those of the clients that other ranks own. Does nothing for one
/// rank, or without client state. Throws as Ranks::exchange.
void bring_states(aggregation::ClientStates& states, Ranks& ranks);

}  // namespace fedhive::sim
