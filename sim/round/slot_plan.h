// Which clients of a cohort share a slot of the arena: consecutive ones, whose weighted updates the worker that trains them adds up while they
// are still in its caches. Slots hold a power of two of them and never grow along the cohort, so each is a subtree of the sum over all clients,
// and the bits are the same however a cohort is cut.
//
//   50 clients, 2 workers    [ 8 | 8 | 8 | 4 | 4 | 4 | 2 | 2 | 2 | 2 | 1 | 1 | 1 | 1 | 1 | 1 ]    long ones first: nobody waits for one at the end
#pragma once

#include "aggregation/memory/param_span.h"
#include "sim/config/config.h"
#include "sim/modes/mode.h"

#include <cstdint>

namespace fedhive::sim {

struct SlotPlan {
    std::uint64_t least = 1;    // clients of a slot, a power of two; the last slot may have fewer
    std::uint64_t most = 1;     // a power of two, at least `least`
    std::uint64_t workers = 1;  // a slot takes a worker's share of half of those who are left, where the bounds let it …
    std::uint64_t parts = 2;    // … or, where this is 1, of all of them

    /// The same number in each.
    static SlotPlan even(std::uint64_t clients_per_slot) { return {clients_per_slot, clients_per_slot}; }

    bool shared() const { return most > 1; }

    /// Of the next slot, with `left` > 0 clients still to be placed.
    std::uint64_t clients_of_next(std::uint64_t left) const;

    /// Of the largest slot of a cohort of so many, the first.
    std::uint64_t largest(std::int64_t cohort) const { return clients_of_next(static_cast<std::uint64_t>(cohort)); }

    /// The most that any cohort of up to so many clients needs.
    std::uint64_t num_slots(std::uint64_t clients) const;
    /// The arena's.
    std::uint64_t num_slots(const Mode& mode) const;
};

/// That of a config: what training.clients_per_slot says. auto: as many as are trained at once, and on the host up to 16 where the updates
/// of a cohort would not stay in the caches, or it has 32 clients or more. `in_blocks`: where a GPU trains whole clients side by side, a worker's share, up to 64.
SlotPlan plan_slots(const RunConfig& run, aggregation::MemorySpace space, std::uint64_t num_floats, std::uint64_t workers,
                    bool in_blocks = false);

}  // namespace fedhive::sim
