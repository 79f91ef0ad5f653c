#include "sim/modes/mode.h"

#include <algorithm>

namespace fedhive::sim {

std::size_t Mode::group_size() const {
    return group == WorkerGroup::None ? 1 : group == WorkerGroup::Slot ? tasks.size() : tasks.size() * in_flight;
}

std::size_t Mode::room(std::size_t on_their_way, std::int64_t rounds_left, std::size_t arrived) const {
    const std::size_t arrivals_left = quorum * static_cast<std::size_t>(rounds_left) - arrived;
    const std::size_t wanted = drain ? std::min(in_flight, arrivals_left) : in_flight;
    return wanted - std::min(wanted, on_their_way);
}

std::uint64_t Mode::num_globals() const {
    // At the start of a round all in flight but one may have started from different older models; clients sent in this round
    // start from the published one.
    if (late_join) return in_flight + 1;
    // The models of arrivals are freed only after the step; as many clients start from the published one.
    if (by_steps) return in_flight - quorum + 2;
    return velocity_index ? *velocity_index + 1 : 2;
}

}  // namespace fedhive::sim
