// Who trains in a round.
#pragma once

#include "aggregation/base/random.h"

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// Client ids in ascending order: the order of the summation tree.
using Cohort = std::vector<std::uint32_t>;

/// `count` of `num_clients` clients, uniformly without replacement. count <= num_clients. Cost: grows with count, not with num_clients.
/// Source: R. Floyd, in J. Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987.
Cohort sample_uniform(std::uint64_t num_clients, std::size_t count, Stream stream);

}  // namespace fedhive::sim
