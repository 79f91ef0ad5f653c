#include "sim/fleet/faults.h"

#include "aggregation/base/random.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace fedhive::sim {

using clients::FaultKind;

const FaultConfig* FaultSchedule::at(std::uint32_t round, std::uint32_t client_id, std::uint32_t repeat,
                                     std::int64_t attempt) const {
    if (faults_.empty()) return nullptr;
    Stream stream(seed_of_repeat(seed_, repeat), Purpose::Faults, round, client_id);
    for (const FaultConfig& fault : faults_) {
        const double drawn = stream.uniform();  // one for every item, so that an item's draw does not depend on those before it
        const bool matches = fault.round.value_or(round + std::int64_t{1}) == round + std::int64_t{1} &&
                             fault.client.value_or(client_id) == client_id && fault.repeat.value_or(repeat) == repeat;
        if (matches && drawn < fault.rate && (attempt == 1 || fault.attempts == "all")) return &fault;
    }
    return nullptr;
}

clients::InjectedFault injected(const FaultConfig* fault) {
    static constexpr std::array<std::pair<std::string_view, FaultKind>, 6> kinds{{{"kill", FaultKind::Kill},
                                                                                  {"hang", FaultKind::Hang},
                                                                                  {"throw", FaultKind::Throw},
                                                                                  {"nan", FaultKind::Nan},
                                                                                  {"slow", FaultKind::Slow},
                                                                                  {"oom", FaultKind::OutOfMemory}}};
    clients::InjectedFault result;
    if (fault == nullptr) return result;
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.first == fault->kind; });
    if (kind != kinds.end()) result.kind = kind->second;
    result.at_update = fault->at == "update" ? 1 : 0;
    result.seconds = fault->seconds;
    return result;
}

}  // namespace fedhive::sim
