// Where an experiment runs: the device, and the number of processes by cores, before memory is considered (memory_plan.h).
#pragma once

#include "aggregation/memory/param_span.h"
#include "sim/config/loaded_config.h"
#include "sim/round/make_mode.h"

#include <cstdint>
#include <string>

namespace fedhive::sim {

struct Placement {
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    std::uint32_t num_workers = 0;  // also 0 if only the data tell the number of clients
};

/// Throws ConfigError if the config asks for a GPU and none is usable, or for fewer workers than must work together.
Placement choose_placement(const LoadedConfig& loaded);

/// workers: auto: cores / threads, clamped to [1, number of tasks], but at least as many as must work at the same time. Throws
/// as choose_placement().
std::uint32_t workers_by_cores(const LoadedConfig& loaded);

/// The value of `device` on this machine, "cpu" or "cuda". Throws as choose_placement().
Device resolve_device(const LoadedConfig& loaded);
Device device_of(aggregation::MemorySpace space);

/// Number of tasks that workers can share if every slot has the fewest clients that the config allows.
std::int64_t num_tasks(const RunConfig& run, const Mode& mode);

/// Throws ConfigError if mps: on is impossible.
void check_mps(const LoadedConfig& loaded, const Placement& placement);

}  // namespace fedhive::sim
