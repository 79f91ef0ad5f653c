#include "sim/fleet/faults.h"

#include "aggregation/base/random.h"
#include "clients/protocol/fault.h"

namespace fedhive::sim {

const FaultConfig* FaultSchedule::at(std::uint32_t round, std::uint32_t client_id, std::uint32_t repeat, std::int64_t attempt,
                                     bool only_by_name) const {
    if (faults_.empty()) return nullptr;
    Stream stream(seed_of_repeat(seed_, repeat), Purpose::Faults, round, client_id);
    for (const FaultConfig& fault : faults_) {
        const double drawn = stream.uniform();  // drawn for every item, so that an item's draw does not depend on the others
        const bool matches = fault.round.value_or(round + std::int64_t{1}) == round + std::int64_t{1} &&
                             fault.client.value_or(client_id) == client_id && fault.repeat.value_or(repeat) == repeat;
        if (only_by_name && !fault.client) continue;
        if (matches && drawn < fault.rate && (attempt == 1 || fault.attempts == FaultedAttempts::All)) return &fault;
    }
    return nullptr;
}

clients::InjectedFault injected(const FaultConfig* fault) {
    return fault != nullptr ? clients::injected(fault->kind, fault->values) : clients::InjectedFault{};
}

}  // namespace fedhive::sim
