// The server's side of the experiment: the global model in the arena's global regions, and how far it has come.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/channels.h"
#include "sim/round/flight.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

struct ServerState {
    /// `taken`: a global region that is never a model's; `beside`: what lies behind the model.
    explicit ServerState(const aggregation::Arena& memory, std::optional<std::uint32_t> taken = {},
                         const aggregation::Channels& beside = {})
        : arena(memory), channels(beside), readers(memory.geometry().num_globals, 0) {
        if (taken) readers.at(*taken) = 1;
    }

    const aggregation::Arena& arena;
    aggregation::Channels channels;
    std::int64_t round = 0;              // rounds finished; advances even when a round is skipped
    std::uint64_t version = 0;           // server steps applied to the model
    double now_s = 0.0;                  // simulated time
    std::uint32_t global_index = 0;      // the global region that is published
    std::vector<std::uint32_t> readers;  // per global region: slots whose clients started from it and have not arrived

    std::vector<InFlight> in_flight;  // where the last round ended

    /// What is published: the model, and what travels behind it.
    aggregation::ParamSpan region() const { return arena.global(global_index); }
    aggregation::ParamSpan model() const { return channels.of(region(), aggregation::kModel); }

    /// theta_(v+1) is written into a region that nobody reads and then published, so that whoever still reads theta_v reads it whole.
    void server_step(aggregation::ServerOptimizer& optimizer, const aggregation::Aggregate& aggregate) {
        const std::uint32_t next = unread_region();
        optimizer.step(arena.global(next), region(), aggregate);
        aggregation::synchronize(arena.space());
        global_index = next;
        ++version;
    }

    /// The workers have written the published model themselves. Throws Fault where they have ruined it.
    void stepped_in_place() {
        ++version;
        // A difference from itself is 0, but for what is not finite.
        if (!aggregation::write_update(arena.global(unread_region()), model(), model()).finite)
            throw Fault(
                "the model that all workers write holds a NaN or an infinity; a smaller training.optimizer.lr usually helps");
    }

    /// A region that is neither published nor read. Throws Fault when there is none: the arena is too small for the mode.
    std::uint32_t unread_region() const {
        for (std::uint32_t region = 0; region < readers.size(); ++region)
            if (region != global_index && readers[region] == 0) return region;
        throw Fault("every global region of the arena is still being read");
    }
};

}  // namespace fedhive::sim
