// What dealing by several schemes needs.
#pragma once

#include "clients/data/partition.h"

namespace fedhive::clients {

/// What a stream of a partition is for, as its `round` key: who gets which examples; who gives some away; how many each has …
inline constexpr std::uint32_t kDeal = 0;
inline constexpr std::uint32_t kRepair = 1;
inline constexpr std::uint32_t kSizes = 2;
inline constexpr std::uint32_t kGroups = 3;  // what a group's clients are dealt by

/// `min_examples`, a key of schemes whose clients may come off with few.
inline KeySpec min_examples_key() {
    return {.name = "min_examples",
            .default_value = std::int64_t{1},
            .range = between(1, kMost),
            .doc = "Least number of examples of a client. A client that drew fewer takes examples from the largest clients."};
}

/// Throw ConfigError where there are no clients, or more examples than an index can count; and where clients would have none.
void check_sizes(std::size_t num_examples, std::size_t clients);
void check_enough_examples(std::size_t num_examples, std::size_t clients);
void check_enough_examples(std::size_t num_examples, std::size_t clients, std::size_t least);  // of each client

/// 0, 1, …, num_examples - 1.
std::vector<std::uint32_t> all_indices(std::size_t num_examples);

/// Of the clients' lists.
Partition joined(const std::vector<std::vector<std::uint32_t>>& shards);

}  // namespace fedhive::clients
