// The server's side of the experiment: the global model in the arena's two global regions, and how far it has come.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/arena.h"

#include <cstdint>

namespace fedhive::sim {

struct ServerState {
    const aggregation::Arena& arena;
    std::int64_t round = 0;          // rounds finished; advances even when a round is skipped
    std::uint64_t version = 0;       // server steps applied to the model
    std::uint32_t global_index = 0;  // the global region that is published

    aggregation::ParamSpan model() const { return arena.global(global_index); }

    /// theta_(v+1) is written into the other region and then published, so that whoever still reads theta_v reads it whole.
    void server_step(aggregation::ServerOptimizer& optimizer, const aggregation::Aggregate& aggregate) {
        optimizer.step(arena.global(1 - global_index), model(), aggregate.values);
        aggregation::synchronize(arena.space());
        global_index = 1 - global_index;
        ++version;
    }
};

}  // namespace fedhive::sim
