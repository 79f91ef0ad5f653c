// What a rule's inner products add to the updates of a round: the sums of their clients' earlier updates.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// Empty: the products are of the updates alone.
struct Histories {
    std::vector<std::uint32_t> clients{};             // of the rows
    std::vector<aggregation::ConstParamSpan> sums{};  // h_k in host memory; empty: 0, or with another rank
    std::size_t columns = 0;                          // of a row that count, from the first on

    bool none() const { return clients.empty(); }
};

}  // namespace fedhive::sim
