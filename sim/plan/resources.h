// On what an experiment runs: the device, and how many processes by the cores, before memory is looked at (memory_plan.h).
#pragma once

#include "aggregation/memory/param_span.h"
#include "sim/config/config.h"
#include "sim/round/mode.h"

#include <cstdint>
#include <string>

namespace fedhive::sim {

struct Resources {
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    std::uint32_t num_workers = 0;
};

/// Throws ConfigError where there is no usable GPU and one is asked for, and for fewer workers than must work together.
Resources choose_resources(const LoadedConfig& loaded);

/// What `device` comes to on this machine, "cpu" or "cuda". Throws as choose_resources().
std::string resolve_device(const LoadedConfig& loaded);
const char* name_of(aggregation::MemorySpace space);

/// Tasks that there are to share among workers, as slots are at least.
std::int64_t num_tasks(const RunConfig& run, const Mode& mode);

/// Throws ConfigError where mps: on cannot be.
void check_mps(const LoadedConfig& loaded, const Resources& resources);

}  // namespace fedhive::sim
