// The mode of a config: its value (sim/modes), and the strategy with the server's part taken over by a mode that has its own.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/layout.h"
#include "sim/config/config.h"
#include "sim/modes/mode.h"
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

Mode make_mode(const RunConfig& run);

/// The optimiser of the config: of each client, or of the server where that steps by gradients.
aggregation::OptimizerOptions optimizer_options(const Chosen& optimizer);

/// The strategy of the config, with the server's part taken over by a mode that has its own. Where the strategy's stands, a model's buffers
/// take the mean.
Strategy make_mode_strategy(const RunConfig& run, const aggregation::Arena& arena, const aggregation::Layout& layout,
                            const aggregation::Channels& channels, std::uint64_t num_clients);

}  // namespace fedhive::sim
