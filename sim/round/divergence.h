// Divergence: updates or a model that are not finite. What to advise, and when to end the run.
#pragma once

#include "aggregation/base/error.h"
#include "sim/config/run_config.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"

#include <optional>
#include <string>

namespace fedhive::sim {

/// The model is not finite, or its test loss is not.
struct Diverged : Fault {
    using Fault::Fault;
};

/// Advice with the keys of this config that decide how far a client goes: "a smaller training.optimizer.lr (50) usually helps".
std::string help_for_updates(const RunConfig& run);

/// As help_for_updates(), with the keys that decide how far the server goes first.
std::string help_for_model(const RunConfig& run);

/// Call after an evaluated round. Throws Diverged naming round and keys if the model or its test loss is not finite.
void require_finite(const RunConfig& run, const ServerState& server, const std::optional<Metrics>& test);

}  // namespace fedhive::sim
