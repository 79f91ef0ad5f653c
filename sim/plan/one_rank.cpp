#include "sim/plan/one_rank.h"

#include <fmt/format.h>

namespace fedhive::sim {

void refuse_what_needs_one_rank(const LoadedConfig& loaded, const Mode& mode, aggregation::MemorySpace space) {
    const RunConfig& run = loaded.run;
    if (space != aggregation::MemorySpace::Host)
        throw loaded.source->error("device", "ranks train on the CPU so far; allowed with several ranks: cpu");
    if (!mode.trains_alone() || mode.group_size() > 1 || mode.bring != Bring::Update)
        throw loaded.source->error(
            "mode.name", fmt::format("{} works in one process only; allowed with several ranks: synchronous, and semi_async "
                                     "and async on the virtual clock; or start it without MPI",
                                     run.mode.name));
    if (mode.quorum < mode.in_flight && run.clock != "virtual" && run.arrivals.empty())
        throw loaded.source->error(
            "clock", fmt::format("on the wall clock mode {} with a quorum waits for whoever comes first, which several "
                                 "ranks cannot agree on; allowed with them: virtual, or arrivals of an earlier run",
                                 run.mode.name));
}

}  // namespace fedhive::sim
