// What a round has to do for a method, by its formulas.
#include "aggregation/formulas/method_formulas.h"

#include <algorithm>

namespace fedhive::aggregation::formulas {

namespace {

bool place_reads(const MethodFormulas& method, Place place, std::string_view name) {
    return method.has(place) && method.parsed(place).reads(name);
}

}  // namespace

bool MethodFormulas::keeps_memories() const {
    return std::ranges::any_of(memories, [](const MethodMemory& memory) { return memory.owner == MemoryOwner::Client; });
}

bool MethodFormulas::changes_memories_in_steps() const {
    return std::ranges::any_of(memories, [&](const MethodMemory& memory) { return changes_in_steps(memory); });
}

bool MethodFormulas::trains_alone() const {
    if (reads_mean_gradient() || !losses_at.empty()) return true;
    if (has(Place::Start) || has(Place::Second) || has(Place::End) || has(Place::Cohort) || has(Place::Mix) ||
        has(Place::Measure) || has(Place::After) || keeps_memories())
        return true;
    if (changes_memories_in_steps()) return true;
    return has(Place::Gradient) && (place_reads(*this, Place::Gradient, "n") || parsed(Place::Gradient).reduces());
}

bool MethodFormulas::changes_elements() const {
    if (!has(Place::Gradient) || has(Place::Loss) || trains_alone()) return false;
    return !place_reads(*this, Place::Gradient, "step") && !place_reads(*this, Place::Gradient, "steps");
}

bool MethodFormulas::reads_sent_loss() const {
    return place_reads(*this, Place::Cohort, "k.sent_loss") || place_reads(*this, Place::Peers, "k.sent_loss");
}

bool MethodFormulas::reads_cross_losses() const { return place_reads(*this, Place::Peers, kTheirLoss); }

bool MethodFormulas::takes_products() const {
    const auto takes = [&](Place place) { return has(place) && parsed(place).takes_products(); };
    return takes(Place::Cohort) || takes(Place::Peers) || reads_root();
}

bool MethodFormulas::reads_root() const {
    if (!has(Place::Cohort)) return false;
    const Formulas cohort = parsed(Place::Cohort);
    return cohort.reads(kDotRoot) || cohort.reads(kCosRoot) || cohort.reads(kRootNorm);
}

bool MethodFormulas::reads(std::string_view value) const {
    return std::ranges::any_of(lines, [&](const auto& of_place) { return parsed(of_place.first).reads(value); });
}

bool MethodFormulas::sets_weights() const {
    if (!has(Place::Cohort)) return false;
    return std::ranges::any_of(parsed(Place::Cohort).targets, [](const Target& target) { return target.name == "weight"; });
}

}  // namespace fedhive::aggregation::formulas
