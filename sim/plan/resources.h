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
    std::uint32_t num_workers = 0;  // 0 also where only the data know how many clients there are
};

/// Throws ConfigError where there is no usable GPU and one is asked for, and for fewer workers than must work together.
Resources choose_resources(const LoadedConfig& loaded);

/// auto: as many processes as the cores have room for, each with its threads, but no more than there are tasks, and no fewer than must work at the same
/// time. Throws as choose_resources().
std::uint32_t workers_by_cores(const LoadedConfig& loaded);

/// What `device` comes to on this machine, "cpu" or "cuda". Throws as choose_resources().
std::string resolve_device(const LoadedConfig& loaded);
const char* name_of(aggregation::MemorySpace space);

/// Tasks that there are to share among workers, as slots are at least.
std::int64_t num_tasks(const RunConfig& run, const Mode& mode);

/// Throws ConfigError where mps: on cannot be.
void check_mps(const LoadedConfig& loaded, const Resources& resources);

}  // namespace fedhive::sim
