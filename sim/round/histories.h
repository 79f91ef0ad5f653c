// Of which columns of a round's updates a rule takes inner products, and what it adds to them: the sums of their clients' earlier updates.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// No clients: the products are of the updates alone.
struct Histories {
    std::vector<std::uint32_t> clients{};             // of the rows
    std::vector<aggregation::ConstParamSpan> sums{};  // h_k in host memory; empty: 0, or with another rank
    std::size_t first = 0, columns = 0;               // floats of a slot: the update's, or those of what comes up beside it

    bool none() const { return clients.empty(); }
};

}  // namespace fedhive::sim
