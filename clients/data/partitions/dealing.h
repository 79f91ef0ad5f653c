// What dealing by several schemes needs.
#pragma once

#include "clients/data/partition.h"

namespace fedhive::clients {

/// A stream of a partition that deals; its `round` key. A scheme's others have other numbers.
inline constexpr std::uint32_t kDeal = 0;

/// Throw ConfigError where there are no clients, or more examples than an index can count; and where clients would have none.
void check_sizes(std::size_t num_examples, std::size_t clients);
void check_enough_examples(std::size_t num_examples, std::size_t clients);

/// 0, 1, …, num_examples - 1.
std::vector<std::uint32_t> all_indices(std::size_t num_examples);

/// Of the clients' lists.
Partition joined(const std::vector<std::vector<std::uint32_t>>& shards);

}  // namespace fedhive::clients
