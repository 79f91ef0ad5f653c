// The resources of an experiment: device, workers, engine, and the memory that the coordinator shares with its workers.
#pragma once

#include "aggregation/memory/arena.h"
#include "sim/config/loaded_config.h"
#include "sim/plan/engine_choice.h"
#include "sim/plan/model_setup.h"
#include "sim/plan/placement.h"
#include "sim/plan/worker_choice.h"
#include "sim/round/make_mode.h"
#include "sim/round/slot_plan.h"

#include <cstdint>
#include <memory>

namespace fedhive::sim {

struct Resources {
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    std::uint32_t num_workers = 0;
    std::uint32_t most_workers = 0;  // memory and tasks allow at most this many, if the config leaves the number open
    WorkerChoice workers;            // how num_workers came about
    double rehearsed_step_s = 0.0;   // seconds of a local step on a GPU
    EngineChoice engine_choice;
    SlotPlan slots;
    std::unique_ptr<aggregation::Arena> arena;

    /// For the number of workers in `placement`; starts none. `workers_of_all_ranks`: determines the slots of a cohort, the same on
    /// all ranks. Throws ConfigError if the engine cannot train the model, or memory does not suffice for the arena.
    static Resources make(const LoadedConfig& loaded, const Placement& placement, std::uint32_t workers_of_all_ranks,
                          const ModelSetup& model, const Mode& mode);
};

/// Throws ConfigError if memory does not suffice.
std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded, aggregation::MemorySpace space,
                                               const aggregation::ArenaGeometry& geometry);

}  // namespace fedhive::sim
