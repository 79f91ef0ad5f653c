// Which consecutive clients of a cohort share a slot of the arena. The worker that trains them adds up their weighted updates
// while these are in its caches. A slot holds a power of two of clients, and slots never grow along the cohort: each is a
// subtree of the sum over all clients, so that the bits do not depend on the cut.
//
//   50 clients, 2 workers    [ 8 | 8 | 8 | 4 | 4 | 4 | 2 | 2 | 2 | 2 | 1 | 1 | 1 | 1 | 1 | 1 ]    long slots train first
#pragma once

#include "aggregation/memory/param_span.h"
#include "sim/config/run_config.h"
#include "sim/modes/mode.h"

#include <cstdint>

namespace fedhive::sim {

struct SlotPlan {
    std::uint64_t least = 1;    // fewest clients of a slot, a power of two; the last slot may have fewer
    std::uint64_t most = 1;     // most clients of a slot, a power of two, at least `least`
    std::uint64_t workers = 1;  // a slot takes (clients left) / (parts * workers), as a power of two in [least, most]
    std::uint64_t parts = 2;    // 2: half of a worker's share; 1: all of it
    std::uint64_t root = 0;     // slots after the cohort's: 1 if the server's root client trains beside it

    /// Every slot has `clients_per_slot` clients.
    static SlotPlan even(std::uint64_t clients_per_slot) { return {clients_per_slot, clients_per_slot}; }

    bool shared() const { return most > 1; }

    /// Clients of the next slot, with `left` > 0 clients still to be placed.
    std::uint64_t clients_of_next(std::uint64_t left) const;

    /// Clients of the first slot of a cohort, the largest.
    std::uint64_t largest(std::int64_t cohort) const { return clients_of_next(static_cast<std::uint64_t>(cohort)); }

    /// The most slots that any cohort of up to `clients` clients needs.
    std::uint64_t num_slots(std::uint64_t clients) const;
    /// The number of the arena's slots.
    std::uint64_t num_slots(const Mode& mode) const;
};

/// The plan of a config: training.clients_per_slot. auto: clients_at_once; but if the cohort may share slots: on the host up to
/// kMostShared, if its updates exceed the caches or it has kManyClients or more; in_blocks (a GPU trains whole clients side by
/// side): a worker's share, up to kBlocksAtOnce. One more slot if the strategy needs the root client's update.
SlotPlan plan_slots(const RunConfig& run, aggregation::MemorySpace space, std::uint64_t num_floats, std::uint64_t workers,
                    bool in_blocks = false);

}  // namespace fedhive::sim
