#include "sim/round/slot_plan.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/memory/arena.h"
#include "clients/visit/whole_clients.h"
#include "sim/strategies/strategy.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace fedhive::sim {

namespace {

/// At most this many clients lose their training with a slot's worker.
constexpr std::uint64_t kMostShared = 16;

/// Roughly a processor's caches: if the updates are smaller, they are still cached when they are summed after the barrier.
constexpr std::uint64_t kCachedBytes = std::uint64_t{16} << 20;

/// From this cohort size on, handing out, watching and summing client by client costs the coordinator more than training a lost
/// slot again.
constexpr std::int64_t kManyClients = 32;

/// True if the cohort arrives as a whole, neither aggregator nor attackers take single updates, and clients keep no state.
bool may_share(const RunConfig& run) {
    return run.waits_for_all() && !run.has_attackers() &&
           !aggregation::aggregator_spec(run.strategy.parts.aggregator.name).single_updates && !run.keeps_client_state() &&
           !run.strategy.trains_alone();
}

SlotPlan plan_of_cohort(const RunConfig& run, aggregation::MemorySpace space, std::uint64_t num_floats, std::uint64_t workers,
                        bool in_blocks) {
    const TrainingConfig& training = run.training;
    if (training.clients_per_slot) return SlotPlan::even(static_cast<std::uint64_t>(*training.clients_per_slot));
    SlotPlan plan = SlotPlan::even(static_cast<std::uint64_t>(training.clients_at_once));
    const std::uint64_t bytes = static_cast<std::uint64_t>(run.cohort_size()) * aggregation::ArenaGeometry::padded(num_floats);
    if (in_blocks && may_share(run)) {
        plan.most = clients::kBlocksAtOnce;
        plan.workers = std::max<std::uint64_t>(1, workers);
        plan.parts = 1;
        return plan;
    }
    const bool worth_it = bytes > kCachedBytes || run.cohort_size() >= kManyClients;
    if (space != aggregation::MemorySpace::Host || !worth_it || !may_share(run)) return plan;
    plan.most = std::max(plan.least, kMostShared);
    plan.workers = std::max<std::uint64_t>(1, workers);
    return plan;
}

}  // namespace

std::uint64_t SlotPlan::clients_of_next(std::uint64_t left) const {
    const std::uint64_t share = std::bit_floor(left / (parts * workers));
    return std::min(left, std::clamp(share, least, most));
}

std::uint64_t SlotPlan::num_slots(std::uint64_t clients) const {
    std::vector<std::uint64_t> slots_for(clients + 1);
    for (std::uint64_t left = 1; left <= clients; ++left) slots_for[left] = 1 + slots_for[left - clients_of_next(left)];
    return *std::max_element(slots_for.begin(), slots_for.end());
}

std::uint64_t SlotPlan::num_slots(const Mode& mode) const {
    return std::max<std::uint64_t>(num_slots(mode.clients_in_slots()), mode.bring == Bring::OneUpdate ? 2 : 1) + root;
}

SlotPlan plan_slots(const RunConfig& run, aggregation::MemorySpace space, std::uint64_t num_floats, std::uint64_t workers,
                    bool in_blocks) {
    SlotPlan plan = plan_of_cohort(run, space, num_floats, workers, in_blocks);
    plan.root = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).root ? 1 : 0;
    return plan;
}

}  // namespace fedhive::sim
