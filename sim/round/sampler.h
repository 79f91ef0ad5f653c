// Sampling: which clients train in a round.
#pragma once

#include "aggregation/base/random.h"
#include "sim/devices/devices.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// Client ids in ascending order: the order of the summation tree.
using Cohort = std::vector<std::uint32_t>;

/// Draws `count` of `num_clients` clients, uniformly without replacement. count <= num_clients. Cost: grows with count, not
/// with num_clients.
/// Source: R. Floyd, in J. Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987.
Cohort sample_uniform(std::uint64_t num_clients, std::size_t count, Stream stream);

/// Draws at most `count` of the clients that are available at now_s and not `busy` (ascending ids). If none is available and
/// none busy, now_s advances to the next time one is; throws Fault if that is never.
/// Cost: grows with count / (share of available clients); with num_clients only if fewer than count are available.
Cohort sample_idle(std::uint64_t num_clients, const std::vector<std::uint32_t>& busy, std::size_t count, Stream stream,
                   const Devices& devices, double& now_s);

}  // namespace fedhive::sim
