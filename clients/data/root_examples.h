// Training examples that only the server has. Rules that compare clients' updates with an update of the server need them. They are taken
// out before the others are dealt to clients.
#pragma once

#include "clients/data/partition.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// All training examples in two parts, both ascending.
struct RootSplit {
    std::vector<std::uint32_t> root;    // only the server has them
    std::vector<std::uint32_t> others;  // for the clients
};

/// Draws `count` of `num_examples` examples for the server, each set of that size equally likely.
///
/// Order    Stream(seed, Purpose::RootExamples); no other stream changes. count <= num_examples.
RootSplit draw_root(std::size_t num_examples, std::size_t count, std::uint64_t seed);

/// Deals the examples in `others` (ascending) by the scheme, as if there were no other examples. `deal`: input with all examples; `values`:
/// of all keys of the scheme, which must not be `by_number`. Throws as the scheme.
Partition deal_others(const PartitionScheme& scheme, Deal deal, const Values& values, std::span<const std::uint32_t> others);

}  // namespace fedhive::clients
