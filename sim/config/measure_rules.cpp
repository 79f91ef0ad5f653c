#include "sim/config/measure_rules.h"

#include "clients/tasks/learning_task.h"
#include "clients/tasks/measures.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

/// Checks that a sampler that measures does so while nobody trains.
void check_candidates(const RunConfig& run, const ConfigSource& source) {
    const SamplerSpec& spec = sampler_spec(run.sampling.name);
    if (spec.measured == nullptr || spec.measured(completed(run.sampling.values, spec.keys), 1) == 0) return;
    const ModeSpec& mode = mode_spec(run.mode.name);
    const Mode value = mode.build({.values = completed(run.mode.values, mode.keys)});
    if (value.trains_alone() && !value.overlaps()) return;
    throw source.error("sampling." + spec.asking_key,
                       fmt::format("in mode '{}' clients are sent while others train, or train together, so none is free to "
                                   "measure the model first; allowed: {}, or mode synchronous",
                                   mode.name, spec.not_asking));
}

/// Checks that cohorts do not depend on measured seconds: no run could be repeated.
void check_seconds(const RunConfig& run, const ConfigSource& source) {
    const SamplerSpec& spec = sampler_spec(run.sampling.name);
    if (run.clock == Clock::Virtual || spec.by_seconds == nullptr) return;
    if (!spec.by_seconds(completed(run.sampling.values, spec.keys))) return;
    throw source.error(
        "sampling.name",
        fmt::format("'{}' chooses clients by how long they took, which differs from run to run on the wall clock; "
                    "allowed: clock: virtual, or another sampler{}",
                    spec.name, spec.name == "oort" ? ", or oort without preferred_s" : ""));
}

}  // namespace

void check_measures(const RunConfig& run, const ConfigSource& source) {
    const std::vector<std::string> allowed = clients::measures_of(clients::learning_task(run.task));
    const std::vector<std::string>& given = run.training.measure;
    for (std::size_t i = 0; i < given.size(); ++i)
        if (std::ranges::find(allowed, given[i]) == allowed.end())
            throw source.error(fmt::format("training.measure[{}]", i),
                               fmt::format("task '{}' has no measure '{}'; allowed with it: {}", run.task, given[i],
                                           fmt::join(allowed, ", ")));
    const std::vector<std::string> modes = modes_with_clients_alone();
    if (!given.empty() && std::ranges::find(modes, run.mode.name) == modes.end())
        throw source.error(
            "training.measure",
            fmt::format(
                "in mode '{}' no client trains alone from the one model that it is sent, so it cannot measure that model "
                "({}); remove it, or use mode {}",
                run.mode.name, fmt::join(given, ", "), fmt::join(modes, " or ")));
    check_candidates(run, source);
    check_seconds(run, source);
}

}  // namespace fedhive::sim
