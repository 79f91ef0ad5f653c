// Injected failures: finds the item of a config's `faults:` that hits a client's attempt.
#pragma once

#include "clients/protocol/task.h"
#include "sim/config/run_config.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

class FaultSchedule {
public:
    FaultSchedule() = default;
    FaultSchedule(std::vector<FaultConfig> faults, std::uint64_t seed) : faults_(std::move(faults)), seed_(seed) {}

    /// The first matching fault of the list; nullptr if there is none. `round` from 0, `attempt` from 1; `repeat`: number of times that the client
    /// was sent before in that round. only_by_name: skips faults that name no client.
    /// Order: rates are drawn from stream (seed, Faults, round, client), with the repeat's seed, so that no draw depends on the machine.
    const FaultConfig* at(std::uint32_t round, std::uint32_t client_id, std::uint32_t repeat, std::int64_t attempt,
                          bool only_by_name = false) const;

private:
    std::vector<FaultConfig> faults_;
    std::uint64_t seed_ = 0;
};

/// The fault as a worker gets it; none for kind `drop`, which never reaches a worker.
clients::InjectedFault injected(const FaultConfig* fault);

}  // namespace fedhive::sim
