// Gemm with a fused SGD step for a linear layer and a small batch: w[o][i] −= rate · Σ_k dy[k][o] · x[k][i]. A strip of columns of x
// stays in registers while the rows of w are read one by one. Gemm's register tiles would hold sums instead, each of only as many
// products as the batch has examples.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Rows [row, end) of `out`, a strip of kVectors vectors of columns, the last one masked to `tail`. Terms in the same order as
/// in gemm_block.
template <std::size_t kExamples, std::size_t kVectors>
static void descend_strip(const Gemm& t, std::size_t row, std::size_t end, std::size_t column, Mask tail) {
    const auto read = [&](const float* from, std::size_t v) __attribute__((always_inline)) {
        return v + 1 == kVectors ? load(from + v * kLanes, tail) : load(from + v * kLanes);
    };
    Lanes m[kExamples][kVectors];
    FEDHIVE_UNROLL for (std::size_t k = 0; k < kExamples; ++k) {
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) m[k][v] =
            read(t.m + static_cast<Stride>(k) * t.m_inner + column, v);
    }
    const Lanes rate = all(t.rate);
    const Stride first = static_cast<Stride>(row) * t.out_row + static_cast<Stride>(column);
    const float* a = t.a + static_cast<Stride>(row) * t.a_row;
    const float* before = (t.from != nullptr ? t.from : t.out) + first;
    float* out = t.out + first;
    const Stride a_row = t.a_row, a_inner = t.a_inner, out_row = t.out_row;
    for (; row < end; ++row, a += a_row, before += out_row, out += out_row) {
        Lanes sums[kVectors];
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = zero();
        FEDHIVE_UNROLL for (std::size_t k = 0; k < kExamples; ++k) {
            const Lanes factor = all(a[static_cast<Stride>(k) * a_inner]);
            FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = fma(factor, m[k][v], sums[v]);
        }
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            const Lanes stepped = sub(read(before, v), mul(rate, sums[v]));
            if (v + 1 == kVectors)
                store(out + v * kLanes, stepped, tail);
            else
                store(out + v * kLanes, stepped);
        }
    }
}

using DescendStrip = void (*)(const Gemm&, std::size_t, std::size_t, std::size_t, Mask);

/// The strip function for `examples` examples, 1 to kExamples.
template <std::size_t kVectors, std::size_t kExamples = kMostHeld / kVectors>
FEDHIVE_INLINE DescendStrip descend_strip_of(std::size_t examples) {
    if constexpr (kExamples <= 1)
        return descend_strip<1, kVectors>;
    else
        return examples == kExamples ? descend_strip<kExamples, kVectors> : descend_strip_of<kVectors, kExamples - 1>(examples);
}

FEDHIVE_INLINE bool descends_by_rows(const Gemm& t) {
    return t.descend && t.decay == 0.0F && !t.add && t.outer == 1 && t.inner > 0 && t.inner <= kMostHeld / 2;
}

/// The strip function for `examples` examples and `vectors` vectors, 1, 2 or 4.
FEDHIVE_INLINE DescendStrip descend_strip_of(std::size_t examples, std::size_t vectors) {
    if (vectors == 4) return descend_strip_of<4>(examples);
    return vectors == 2 ? descend_strip_of<2>(examples) : descend_strip_of<1, kMostHeld / 2>(examples);
}

/// Blocks of kRows rows: their pages are still in the TLB when the next strip of columns reaches them.
static void descend_by_rows(const Gemm& t) {
    constexpr std::size_t kRows = 64;
    const std::size_t most = t.inner <= kMostHeld / 4 ? 4 : 2;
    for (std::size_t row = 0; row < t.rows; row += kRows) {
        for (std::size_t column = 0; column < t.columns;) {
            const std::size_t left = (t.columns - column + kLanes - 1) / kLanes, vectors = left >= most ? most
                                                                                           : left >= 2  ? 2
                                                                                                        : 1;
            descend_strip_of(t.inner, vectors)(t, row, least(row + kRows, t.rows), column,
                                               first_lanes(t.columns - column - (vectors - 1) * kLanes));
            column += vectors * kLanes;
        }
    }
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
