#include "sim/plan/one_rank.h"

#include <fmt/format.h>

namespace fedhive::sim {

void refuse_what_needs_one_rank(const LoadedConfig& loaded, const Mode& mode) {
    const RunConfig& run = loaded.run;
    if (run.reads_cross_losses())
        throw loaded.source->error(
            "strategy.file",
            fmt::format(
                "{} reads k.their_loss, the losses of all updates on each client's examples, but a rank has only its own "
                "clients' updates; start it without MPI, or choose another strategy",
                run.strategy.parts.method->file.string()));
    if (!mode.trains_alone() || mode.group_size() > 1 || mode.bring != Bring::Update)
        throw loaded.source->error("mode.name",
                                   fmt::format("{} supports only one rank; allowed with several ranks: synchronous, and "
                                               "semi_async and async on the virtual clock; or start it without MPI",
                                               run.mode.name));
    if ((mode.quorum < mode.in_flight || mode.late_join) && run.clock != Clock::Virtual && run.arrivals.empty())
        throw loaded.source->error(
            "clock", fmt::format("on the wall clock, mode {} with a quorum waits for the first arrivals, which several ranks "
                                 "cannot agree on; allowed with several ranks: virtual, or arrivals of an earlier run",
                                 run.mode.name));
}

void refuse_mps_of_several(const LoadedConfig& loaded, const Ranks& ranks) {
    if (loaded.run.mps != Mps::On || ranks.on_device_of(ranks.rank()) == 1) return;
    throw loaded.source->error(
        "mps", fmt::format("cannot be on: {} ranks share a GPU, and each would start its own daemon; allowed here: auto, off",
                           ranks.on_device_of(ranks.rank())));
}

}  // namespace fedhive::sim
