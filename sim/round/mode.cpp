#include "sim/round/mode.h"

#include "aggregation/math/gradient_step.h"
#include "aggregation/math/mixing.h"
#include "aggregation/math/server_copy.h"

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

namespace {

Staleness staleness_of(const ModeConfig& mode) {
    Staleness staleness{.a = mode.staleness_a, .b = mode.staleness_b};
    if (mode.staleness == "hinge") staleness.function = Staleness::Function::Hinge;
    if (mode.staleness == "polynomial") staleness.function = Staleness::Function::Polynomial;
    return staleness;
}

/// After the two models.
constexpr std::uint32_t kVelocityRegion = 2;

Traffic model_in_every_step(const Trip& trip) { return {trip.steps * trip.model_bytes, trip.steps * trip.model_bytes}; }

Traffic half_model_and_activations(const Trip& trip) {
    const std::uint64_t bytes = trip.model_bytes + trip.examples * trip.activation_bytes;
    return {bytes, bytes};
}

/// Whichever way gradients are summed, all ranks together read 2 (R - 1) of them.
Traffic all_reduce_in_every_step(const Trip& trip) {
    return {trip.model_bytes, trip.steps * 2 * (trip.in_flight - 1) * trip.model_bytes / trip.in_flight};
}

}  // namespace

aggregation::SgdOptions sgd_options(const OptimizerConfig& optimizer) {
    return {static_cast<float>(optimizer.lr), static_cast<float>(optimizer.momentum),
            static_cast<float>(optimizer.weight_decay), optimizer.nesterov};
}

double Staleness::discount(std::uint64_t tau) const {
    const auto age = static_cast<double>(tau);
    switch (function) {
        case Function::Constant:
            return 1.0;
        case Function::Hinge:
            return age <= b ? 1.0 : 1.0 / (a * (age - b) + 1.0);
        case Function::Polynomial:
            return std::pow(1.0 + age, -a);
    }
    return 1.0;
}

std::size_t Mode::room(std::size_t on_their_way, std::int64_t rounds_left, std::size_t arrived) const {
    const std::size_t arrivals_left = quorum * static_cast<std::size_t>(rounds_left) - arrived;
    const std::size_t wanted = drain ? std::min(in_flight, arrivals_left) : in_flight;
    return wanted - std::min(wanted, on_their_way);
}

std::uint64_t Mode::num_globals() const {
    // When a round begins, all but the one that has ended the last may be on their way, each from an older model; whoever is sent in this round
    // starts from the published one.
    if (late_join) return in_flight + 1;
    // Those who arrive leave their model free only after the step; as many start from the published one.
    if (by_steps) return in_flight - quorum + 2;
    return velocity_index ? *velocity_index + 1 : 2;
}

std::uint64_t Mode::num_slots(const SlotPlan& slots) const {
    const std::uint64_t least = bring == Bring::OneUpdate ? 2 : 1;
    return std::max(slots.num_slots(in_flight + (late_join ? quorum - 1 : 0)), least);
}

std::size_t Mode::group_size() const {
    return group == Group::None ? 1 : group == Group::Slot ? tasks.size() : tasks.size() * in_flight;
}

Mode make_mode(const RunConfig& run) {
    const ModeConfig& config = run.mode;
    Mode mode;
    mode.in_flight = static_cast<std::size_t>(run.cohort_size());
    mode.quorum = static_cast<std::size_t>(config.quorum.value_or(run.cohort_size()));
    if (config.name == "semi_async" || config.name == "async") {
        mode.late_join = true;
        mode.drain = config.at_end == "drain";
        mode.staleness = staleness_of(config);
    }
    if (config.name == "async") {
        mode.quorum = 1;
        mode.payload = clients::Payload::Model;
    }
    if (config.name == "parameter_server") {
        mode.quorum = 1;
        mode.tasks = {clients::TaskKind::Gradient};
        mode.by_steps = true;
        if (config.max_staleness) mode.max_staleness = static_cast<std::uint64_t>(*config.max_staleness);
    }
    if (config.name == "hogwild") {
        mode.tasks = {clients::TaskKind::InPlace};
        mode.bring = Bring::Nothing;
        mode.traffic = model_in_every_step;
        if (config.data == "full") mode.pass = Pass::All;
    }
    if (config.name == "split") {
        mode.tasks = {clients::TaskKind::LowerHalf, clients::TaskKind::UpperHalf};
        mode.group = Group::Slot;
        mode.traffic = half_model_and_activations;
    }
    if (config.name == "gradient_averaging") {
        mode.tasks = {clients::TaskKind::Replica};
        mode.group = Group::Round;
        mode.bring = Bring::OneUpdate;
        mode.pass = Pass::Share;
        mode.traffic = all_reduce_in_every_step;
        if (run.training.optimizer.momentum > 0.0) mode.velocity_index = kVelocityRegion;
    }
    return mode;
}

Strategy make_mode_strategy(const RunConfig& run, const aggregation::Arena& arena) {
    Strategy strategy = make_strategy(run.strategy.name, run.strategy.values, run.strategy.weighting, run.strategy.aggregator);
    if (run.mode.name == "async") {
        strategy.aggregator = aggregation::make_single_update();
        strategy.server_optimizer = aggregation::make_server_mix(run.mode.alpha);
    }
    if (run.mode.name == "parameter_server") {
        strategy.weighting = Weighting::Uniform;
        strategy.server_optimizer = aggregation::make_gradient_step(sgd_options(run.training.optimizer));
    }
    if (run.mode.name == "gradient_averaging") {
        strategy.aggregator = aggregation::make_single_update();
        const bool momentum = run.training.optimizer.momentum > 0.0;
        strategy.server_optimizer =
            aggregation::make_server_copy(momentum ? arena.global(kVelocityRegion) : aggregation::ParamSpan(),
                                          momentum ? arena.slot(1) : aggregation::ParamSpan());
    }
    return strategy;
}

}  // namespace fedhive::sim
