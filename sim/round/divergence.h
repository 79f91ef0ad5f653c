// What is said, and done, where training runs away: updates or a model that are not finite.
#pragma once

#include "aggregation/base/error.h"
#include "sim/config/config.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"

#include <optional>
#include <string>

namespace fedhive::sim {

/// Training has run away.
struct Diverged : Fault {
    using Fault::Fault;
};

/// "a smaller training.optimizer.lr (50) usually helps": the keys of this config that decide how far a client goes.
std::string help_for_updates(const RunConfig& run);

/// The same for those that decide how far the server goes.
std::string help_for_model(const RunConfig& run);

/// After an evaluated round: throws Diverged naming round and keys where the model is not finite, or its test loss is not.
void require_finite(const RunConfig& run, const ServerState& server, const std::optional<Metrics>& test);

}  // namespace fedhive::sim
