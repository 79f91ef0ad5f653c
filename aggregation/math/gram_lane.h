// The inner products of gram.h as CUDA threads compute them, with the bits of the host's tiles. These functions also compile for the
// host, so that they are tested without a GPU.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cmath>

namespace fedhive::aggregation::element {

/// One of the products of gram.h: ⟨d_row, d_column⟩ with column ≤ row, or ⟨u_row, r⟩.
struct GramPair {
    std::size_t row = 0;
    std::size_t column = 0;
    bool with_base = false;
};

/// The pair at `index` of gram_values(rows).
FEDHIVE_HOST_DEVICE GramPair gram_pair(std::size_t index, std::size_t rows) {
    const std::size_t below = rows * (rows + 1) / 2;
    if (index >= below) return {index - below, 0, true};
    auto row = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(index) + 1.0) - 1.0) / 2.0);
    while (row * (row + 1) / 2 > index) --row;  // the root may be rounded
    while ((row + 1) * (row + 2) / 2 <= index) ++row;
    return {row, index - row * (row + 1) / 2, false};
}

/// One lane's chain of multiply-adds over columns first + lane, first + lane + 16, … below `end`.
FEDHIVE_HOST_DEVICE float gram_lane(const float* const* rows, const GramPair& pair, std::size_t base_row, std::size_t first,
                                    std::size_t end, std::size_t lane) {
    const float* a = rows[pair.row];
    const float* b = rows[pair.column];
    const float* base = rows[base_row];
    float sum = 0.0F;
    for (std::size_t c = first + lane; c < end; c += 16)
        sum = pair.with_base ? fmaf(a[c], base[c], sum) : fmaf(a[c] - base[c], b[c] - base[c], sum);
    return sum;
}

/// The sum of sixteen lanes, in the order of gram/tiles.h.
FEDHIVE_HOST_DEVICE double gram_sum(const float* lanes) {
    double sums[8];
    for (std::size_t l = 0; l < 8; ++l) sums[l] = double{lanes[l]} + double{lanes[l + 8]};
    for (std::size_t l = 0; l < 4; ++l) sums[l] += sums[l + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

}  // namespace fedhive::aggregation::element
