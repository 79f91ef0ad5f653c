#include "sim/plan/placement.h"

#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "sim/machine/cuda_refusal.h"
#include "sim/machine/machine.h"
#include "sim/round/slot_plan.h"
#include "sim/workers/mps.h"

#include <algorithm>

namespace fedhive::sim {

using aggregation::MemorySpace;

namespace {

MemorySpace choose_device(const LoadedConfig& loaded) {
    const RunConfig& run = loaded.run;
    // Nobody has read the model's file yet: a graph is trained only on the CPU, a list of layers anywhere (model_spec.cpp).
    const bool perhaps_graph = run.device == Device::Auto && !run.model.file.empty();
    if (run.device == Device::Cpu || perhaps_graph) return MemorySpace::Host;
    // A worker that cannot open the arena would be replaced twenty times before the run gives up.
    const bool shared = loaded.run.workers != 0;
    // On a requested GPU the direct engine may train, which engine_choice.h decides when the model is known.
    const bool libtorch_trains = run.device != Device::Cuda || run.training.engine == clients::Engine::Libtorch;
    const std::string why = why_no_cuda(collect_cuda_facts(shared, libtorch_trains));
    if (why.empty()) return MemorySpace::Cuda;
    if (loaded.run.device == Device::Cuda) throw loaded.source->error("device", why);
    return MemorySpace::Host;
}

}  // namespace

Device device_of(MemorySpace space) { return space == MemorySpace::Host ? Device::Cpu : Device::Cuda; }

Device resolve_device(const LoadedConfig& loaded) { return device_of(choose_device(loaded)); }

std::int64_t num_tasks(const RunConfig& run, const Mode& mode) {
    const auto each = static_cast<std::uint64_t>(run.training.least_per_slot());
    const auto slots = static_cast<std::int64_t>(SlotPlan::even(each).num_slots(static_cast<std::uint64_t>(mode.in_flight)));
    const std::int64_t root = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).root ? 1 : 0;
    return static_cast<std::int64_t>(mode.tasks.size()) * slots + root;
}

std::uint32_t workers_by_cores(const LoadedConfig& loaded) {
    const RunConfig& run = loaded.run;
    const Mode mode = make_mode(run);
    const auto least = static_cast<std::int64_t>(mode.group_size());
    if (run.workers) {
        if (least > 1 && *run.workers < least)
            throw loaded.source->error(
                "workers",
                fmt::format("{} is too few, because in mode {} {} processes work together; allowed: {} or more, or auto",
                            *run.workers, run.mode.name, least, least));
        return static_cast<std::uint32_t>(*run.workers);
    }
    return static_cast<std::uint32_t>(
        std::max(least, std::clamp<std::int64_t>(this_machine().cores / run.threads, 1, num_tasks(run, mode))));
}

Placement choose_placement(const LoadedConfig& loaded) {
    const MemorySpace space = choose_device(loaded);
    // The number of tasks depends on the number of clients.
    return {space, loaded.run.data.partition.clients ? workers_by_cores(loaded) : 0};
}

void check_mps(const LoadedConfig& loaded, const Placement& placement) {
    const RunConfig& config = loaded.run;
    if (config.mps != Mps::On) return;
    if (const std::string why = why_no_mps(placement.space == MemorySpace::Cuda); !why.empty())
        throw loaded.source->error("mps", fmt::format("cannot be on: {}; allowed here: auto, off", why));
    if (config.workers && placement.num_workers > kMostMpsWorkers)
        throw loaded.source->error("workers",
                                   fmt::format("{} is more than MPS supports; allowed with mps: on: 0 to {}, or auto",
                                               placement.num_workers, kMostMpsWorkers));
}

}  // namespace fedhive::sim
