// The rows that a rule takes inner products of: a part of each update's slot, and, for a rule that asks, the sum of the client's earlier
// updates added to it.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// Of what. Updates: of the model's part. Method: of the vector that the method names (products_of), or else of the same.
enum class ProductsOf { Updates, Method };

struct ProductRows {
    std::vector<std::uint32_t> clients{};             // whose sums are added; none: nothing is
    std::vector<aggregation::ConstParamSpan> sums{};  // h_k in host memory; empty: 0, or with another rank
    std::size_t first = 0, columns = 0;               // floats of a slot

    bool adds_histories() const { return !clients.empty(); }
};

}  // namespace fedhive::sim
