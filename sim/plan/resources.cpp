#include "sim/plan/resources.h"

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/gram.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/host_arena.h"
#include "sim/fleet/shared_aggregation.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"

#include <fmt/format.h>

namespace fedhive::sim {

using aggregation::ArenaGeometry;
using aggregation::MemorySpace;

namespace {

/// Floats of a batch's activations and of their gradient, each padded to a cache line.
std::uint64_t exchange_floats(const clients::Cut& cut, const RunConfig& run) {
    const std::uint64_t floats = cut.activation_floats * static_cast<std::uint64_t>(run.training.batch_size);
    return 2 * ((floats + 15) / 16 * 16);
}

/// The server's rule, its grouping or its method needs inner products of the updates.
bool needs_products(const StrategyParts& parts) {
    if (formulas_of(parts).takes_products()) return true;
    return aggregation::aggregator_spec(parts.aggregator.name).products ||
           aggregation::pre_aggregation_spec(parts.pre_aggregation.name).products;
}

/// Slots as planned, the mode's models, and the frozen parameters.
ArenaGeometry geometry_of(const RunConfig& run, const Placement& placement, const SlotPlan& slots, const ModelSetup& model,
                          const Mode& mode) {
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name);
    const aggregation::AttackSpec& attack = aggregation::attack_spec(run.attack.name);
    const aggregation::ExtraRow extra = aggregation::extra_row(attack, completed(run.attack.values, attack.keys));
    // Of the clients, then of the attack's extra row, then of the last aggregate.
    const std::uint64_t num_slots =
        slots.num_slots(mode) + (extra != aggregation::ExtraRow::None ? 1 : 0) + (rule.keeps_last ? 1 : 0);
    const std::uint64_t num_floats = model.region.num_floats();
    // For workers that are idle after the barrier, and slots large enough to be worth it.
    const bool shared = placement.space == MemorySpace::Host && placement.num_workers > 1 && mode.workers_may_sum() &&
                        num_slots * ArenaGeometry::padded(num_floats) >= kSharedBytes;
    return {.num_floats = num_floats,
            .num_slots = num_slots,
            .num_globals = mode.num_globals() + (run.sends_compressed() ? 1 : 0),
            .exchange_floats = exchange_floats(model.cut, run),
            .num_aggregates = shared ? 1U : 0U,
            .frozen_floats = model.frozen.num_floats(),
            .kept_floats = model.memories.floats_beside(),
            .num_products = shared && (needs_products(run.strategy.parts) || attack.products)
                                ? divide_up(num_floats, aggregation::kGramColumns) * aggregation::gram_values(num_slots)
                                : 0};
}

}  // namespace

std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded, MemorySpace space, const ArenaGeometry& geometry) {
    if (space == MemorySpace::Cuda) {
        try {
            return std::make_unique<aggregation::CudaArena>(aggregation::cuda_driver(), geometry);
        } catch (const Fault& fault) {
            throw loaded.source->error("training.cohort", fmt::format("{}{}; use a smaller cohort or model, or raise "
                                                                      "training.clients_per_slot",
                                                                      fault.what(), describe_holders(nvml_holders())));
        }
    }
    const std::uint64_t available = this_machine().available_memory;
    if (geometry.total_bytes() > available)
        throw loaded.source->error("training.cohort",
                                   fmt::format("the arena needs {} bytes ({}) for {} slots of {} floats, but {} bytes ({}) are "
                                               "available; use a smaller cohort or model, or raise training.clients_per_slot",
                                               geometry.total_bytes(), human_bytes(geometry.total_bytes()), geometry.num_slots,
                                               geometry.num_floats, available, human_bytes(available)));
    return std::make_unique<aggregation::HostArena>(geometry);
}

Resources Resources::make(const LoadedConfig& loaded, const Placement& placement, std::uint32_t workers_of_all_ranks,
                          const ModelSetup& model, const Mode& mode) {
    Resources made;
    made.space = placement.space;
    made.num_workers = placement.num_workers;
    made.most_workers = placement.num_workers;
    made.engine_choice = choose_engine(loaded, placement.space, model.spec, model.cut);
    made.slots = plan_slots(loaded.run, placement.space, model.region.num_floats(), workers_of_all_ranks,
                            made.engine_choice.in_blocks(placement.space));
    made.arena = make_arena(loaded, placement.space, geometry_of(loaded.run, placement, made.slots, model, mode));
    return made;
}

}  // namespace fedhive::sim
