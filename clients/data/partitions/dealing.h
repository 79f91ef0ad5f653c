// Helpers that several partition schemes share.
#pragma once

#include "clients/data/partition.h"

namespace fedhive::clients {

/// Keys that take the place of the round in a partition's random streams: one for the choice of each client's examples, one for the
/// examples moved to reach the minimum, one for sizes, one for groups.
inline constexpr std::uint32_t kDeal = 0;
inline constexpr std::uint32_t kRepair = 1;
inline constexpr std::uint32_t kSizes = 2;
inline constexpr std::uint32_t kGroups = 3;  // seeds of the partitions within groups

/// Key `min_examples`, for schemes that may give clients few examples.
inline KeySpec min_examples_key() {
    return {.name = "min_examples",
            .default_value = std::int64_t{1},
            .range = between(1, kMost),
            .doc = "Least number of examples of a client. A client that drew fewer takes examples from the largest clients."};
}

/// Throw ConfigError if there are no clients or more examples than 32-bit indices; check_enough_examples() also if a client
/// would get no example, or fewer than `least`.
void check_sizes(std::size_t num_examples, std::size_t clients);
void check_enough_examples(std::size_t num_examples, std::size_t clients);
void check_enough_examples(std::size_t num_examples, std::size_t clients, std::size_t least);

/// 0, 1, …, num_examples - 1.
std::vector<std::uint32_t> all_indices(std::size_t num_examples);

/// The clients' lists as one Partition.
Partition joined(const std::vector<std::vector<std::uint32_t>>& shards);

}  // namespace fedhive::clients
