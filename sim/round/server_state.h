// The server's state: the global model in the arena's global regions, and its progress.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/memories.h"
#include "sim/round/flight.h"
#include "sim/round/sent_model.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct ServerState {
    /// taken: a global region that never holds a model; beside: the memories, some after the model.
    explicit ServerState(const aggregation::Arena& memory, std::optional<std::uint32_t> taken = {},
                         const aggregation::Memories& beside = {})
        : arena(memory), memories(beside), readers(memory.geometry().num_globals, 0) {
        if (taken) readers.at(*taken) = 1;
    }

    const aggregation::Arena& arena;
    aggregation::Memories memories;
    std::int64_t round = 0;              // rounds finished; advances even when a round is skipped
    std::int64_t last_step = 0;          // last round with a server step, from 1; 0: none
    std::uint64_t version = 0;           // server steps applied to the model
    double now_s = 0.0;                  // simulated time
    double clip_norm = 0.0;              // of adaptive_clip, for the clients that are sent next; 0: the chain has none
    std::uint32_t global_index = 0;      // the published global region
    std::vector<std::uint32_t> readers;  // per global region: slots in flight that started from it
    std::optional<SentModel> sent;       // where clients are sent another model than the published one

    // At the end of the last round:
    std::vector<InFlight> in_flight;
    std::string sampler;  // Sampler::state()

    /// The published region: the model, and the memories after it.
    aggregation::ParamSpan region() const { return arena.global(global_index); }
    aggregation::ParamSpan model() const { return memories.of(region(), aggregation::kModel); }

    /// What clients are sent: the published region, or the one that was compressed for them.
    std::uint32_t sent_index() const { return sent ? sent->region : global_index; }
    aggregation::ParamSpan sent_region() const { return arena.global(sent_index()); }

    /// From now on clients are sent the model of this global region, which is never published. num_clients: with changes; else 0.
    void send_from(std::uint32_t index, std::uint64_t num_clients) {
        readers.at(index) = 1;
        sent = SentModel{.region = index, .heard = std::vector<std::uint32_t>(num_clients, 0)};
    }

    /// Writes theta_(v+1) into an unread region, then publishes it: readers of theta_v still see it whole.
    void server_step(aggregation::ServerOptimizer& optimizer, const aggregation::Aggregate& aggregate) {
        const std::uint32_t next = unread_region();
        aggregation::Aggregate of_round = aggregate;
        of_round.round = round;
        optimizer.step(arena.global(next), region(), of_round);
        aggregation::synchronize(arena.space());
        global_index = next;
        last_step = round + 1;
        ++version;
    }

    /// Counts a step that the workers wrote into the published model themselves. Throws Fault if the model is not finite.
    void stepped_in_place() {
        last_step = round + 1;
        ++version;
        // x - x is 0 unless x is not finite.
        if (!aggregation::write_update(arena.global(unread_region()), model(), model()).finite)
            throw Fault("the shared model contains a NaN or an infinity; a smaller training.optimizer.lr usually helps");
    }

    /// A region that is neither published nor read. Throws Fault if there is none: the arena is too small for the mode.
    std::uint32_t unread_region() const {
        for (std::uint32_t region = 0; region < readers.size(); ++region)
            if (region != global_index && readers[region] == 0) return region;
        throw Fault("every global region of the arena is still being read");
    }
};

}  // namespace fedhive::sim
