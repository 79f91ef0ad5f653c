// The nonzeros of the gradient that a 2 × 2 max pool passes back.
#pragma once

#include "clients/direct/ops.h"

#include <algorithm>
#include <vector>

namespace fedhive::clients::direct {

/// Lists of nonzeros, each with the same capacity `room`: counts[l] offsets at_of(l) and values values_of(l).
struct SparseGradient {
    std::size_t room = 0;
    std::vector<std::int32_t> at;
    Floats values;
    std::vector<std::size_t> counts;

    void reserve(std::size_t lists, std::size_t most) {
        room = most + kLaneCount;
        at.resize(lists * room);
        values.resize(lists * room);
        counts.assign(lists, 0);
    }
    void clear() { std::fill(counts.begin(), counts.end(), 0); }
    std::int32_t* at_of(std::size_t list) { return at.data() + list * room; }
    float* values_of(std::size_t list) { return values.data() + list * room; }
};

}  // namespace fedhive::clients::direct
