// The rows of a rule's inner products: a part of each update's slot, plus, for a rule with `histories`, the sum of the client's earlier
// updates.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// The part of a slot. Updates: the model's. Method: the memory that the method names (products_of); without one, the model's.
enum class ProductsOf { Updates, Method };

struct ProductRows {
    std::vector<std::uint32_t> clients{};             // clients whose sums h_k are added; may be empty
    std::vector<aggregation::ConstParamSpan> sums{};  // h_k in host memory; empty: 0, or another rank has it
    std::size_t first = 0, columns = 0;               // floats of a slot

    bool adds_histories() const { return !clients.empty(); }
};

}  // namespace fedhive::sim
