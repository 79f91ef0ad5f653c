// A config's mode: its value (sim/modes), and the strategy with the mode's changes to the server's part.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/layout.h"
#include "sim/config/run_config.h"
#include "sim/modes/mode.h"
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

Mode make_mode(const RunConfig& run);

/// The config's optimiser: of each client, or of the server if the mode makes it step by gradients.
aggregation::OptimizerOptions optimizer_options(const Chosen& optimizer);

/// The config's strategy, with the server's part replaced by a mode that has its own. Otherwise the strategy's server optimiser
/// stays, and a model's buffers take the mean.
Strategy make_mode_strategy(const RunConfig& run, const aggregation::Arena& arena, const aggregation::Layout& layout,
                            const aggregation::Memories& memories, std::uint64_t num_clients);

}  // namespace fedhive::sim
