#include "sim/modes/mode.h"

#include <algorithm>

namespace fedhive::sim {

std::size_t Mode::group_size() const {
    return group == Group::None ? 1 : group == Group::Slot ? tasks.size() : tasks.size() * in_flight;
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

}  // namespace fedhive::sim
