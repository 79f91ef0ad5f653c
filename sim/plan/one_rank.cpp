#include "sim/plan/one_rank.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

std::vector<std::string> rules_by_ranges() {
    std::vector<std::string> names;
    for (const aggregation::AggregatorSpec& spec : aggregation::aggregator_catalog())
        if (spec.build(completed({}, spec.keys))->column_rule() != aggregation::ColumnRule::None) names.push_back(spec.name);
    return names;
}

}  // namespace

void refuse_what_needs_one_rank(const LoadedConfig& loaded, const Mode& mode, aggregation::MemorySpace space) {
    const RunConfig& run = loaded.run;
    if (space != aggregation::MemorySpace::Host)
        throw loaded.source->error("device", "ranks train on the CPU so far; allowed with several ranks: cpu");
    if (!mode.trains_alone() || mode.group_size() > 1 || mode.bring != Bring::Update ||
        mode.payload != clients::Payload::Update)
        throw loaded.source->error(
            "mode.name", fmt::format("{} works in one process only; allowed with several ranks: synchronous, and semi_async "
                                     "on the virtual clock; or start it without MPI",
                                     run.mode.name));
    const std::string rule = parts_of(run.strategy.name, run.strategy.parts).aggregator.name;
    const std::vector<std::string> by_ranges = rules_by_ranges();
    if (std::find(by_ranges.begin(), by_ranges.end(), rule) == by_ranges.end())
        throw loaded.source->error(
            "strategy.aggregator",
            fmt::format("'{}' looks at whole updates, of which each rank has its own clients'; allowed with several ranks: {}",
                        rule, fmt::join(by_ranges, ", ")));
    if (mode.quorum < mode.in_flight && run.clock != "virtual" && run.arrivals.empty())
        throw loaded.source->error(
            "clock", fmt::format("on the wall clock mode {} with a quorum waits for whoever comes first, which several "
                                 "ranks cannot agree on; allowed with them: virtual, or arrivals of an earlier run",
                                 run.mode.name));
}

}  // namespace fedhive::sim
