// Gemm, Dot and SparseUpdate in register tiles. Tile sizes change no bit: each output adds its own terms in order.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/descent.h"
#include "clients/direct/kernels/gemm_tiles.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/packed_gemm.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// A product with few rows and m in panels.
static void gemm_by_panels(const Gemm& t) {
    for (std::size_t column = 0; column < t.columns; column += kPanel) {
        const float* m = t.m + static_cast<Stride>(column / kPanel) * t.m_panel;
        float* out = t.out + column;
        const std::size_t columns = least(kPanel, t.columns - column);
        in_parts(
            t.rows, most_rows(columns), [&](std::size_t row, std::size_t rows) __attribute__((always_inline)) {
                float* of_rows = out + static_cast<Stride>(row) * t.out_row;
                if (column + kPanel < t.columns) fetch_tile(of_rows + kPanel, t.out_row, rows);
                gemm_rows(t, t.a + static_cast<Stride>(row) * t.a_row, m, of_rows, rows, columns);
            });
    }
}

/// Computes strips of columns whose part of `m` stays in the L1 cache; within a strip, register tiles over the rows.
static void gemm_by_strips(const Gemm& t) {
    constexpr std::size_t kNear = 8192;  // floats
    const std::size_t vectors = kNear / (2 * kLanes * (t.outer * t.inner + 1)) + 1, tile = 2 * kLanes * vectors;
    for (std::size_t column = 0; column < t.columns;) {
        const std::size_t left = t.columns - column, columns = is_three(left) ? left : least(tile, left);
        in_parts(
            t.rows, most_rows(columns), [&](std::size_t row, std::size_t rows) __attribute__((always_inline)) {
                gemm_rows(t, t.a + static_cast<Stride>(row) * t.a_row, t.m + column,
                          t.out + static_cast<Stride>(row) * t.out_row + column, rows, columns);
            });
        column += columns;
    }
}

static void gemm_of_one(const Gemm& t) {
    if (descends_by_rows(t)) return descend_by_rows(t);
    if (is_packed(t)) return packed_gemm(t);
    (t.m_panel != 0 ? gemm_by_panels : gemm_by_strips)(t);
}

static void gemm(const Gemm& t) {
    if (t.products == 1) return gemm_of_one(t);
    if (t.columns <= kPanel && t.rows <= most_rows(t.columns)) {  // one tile, small: no time for more
        for (std::size_t i = 0; i < t.products; ++i) {
            const auto at = static_cast<Stride>(i);
            gemm_rows(t, t.a + at * t.a_next, t.m + at * t.m_next, t.out + at * t.out_next, t.rows, t.columns);
        }
        return;
    }
    Gemm one = t;
    for (std::size_t i = 0; i < t.products; ++i, one.a += t.a_next, one.m += t.m_next, one.out += t.out_next) gemm_of_one(one);
}

template <std::size_t kRows, std::size_t kOutputs>
static void dot_block(const Dot& t, const float* x, const float* w, std::size_t length, bool first, const float* bias,
                      float* y) {
    Lanes sums[kRows][kOutputs];
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        FEDHIVE_UNROLL for (std::size_t o = 0; o < kOutputs; ++o) sums[r][o] = zero();
    }
    const auto step = [&](std::size_t i, auto read) __attribute__((always_inline)) {
        Lanes from[kRows];
        FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) from[r] = read(x + static_cast<Stride>(r) * t.x_row + i);
        FEDHIVE_UNROLL for (std::size_t o = 0; o < kOutputs; ++o) {
            const Lanes weights = read(w + static_cast<Stride>(o) * t.w_row + i);
            FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) sums[r][o] = fma(weights, from[r], sums[r][o]);
        }
    };
    std::size_t i = 0;
    for (; i + kLanes <= length; i += kLanes)
        step(
            i, [](const float* p) __attribute__((always_inline)) { return load(p); });
    if (i < length) {
        const Mask tail = first_lanes(length - i);
        step(
            i, [&](const float* p) __attribute__((always_inline)) { return load(p, tail); });
    }
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        float* to = y + static_cast<Stride>(r) * t.y_row;
        write_sums(sums[r], first ? bias : to, to);
    }
}

using DotBlock = void (*)(const Dot&, const float*, const float*, std::size_t, bool, const float*, float*);

template <std::size_t kOutputs, std::size_t kRows = kDotRows>
FEDHIVE_INLINE DotBlock dot_block_of_rows(std::size_t rows) {
    if constexpr (kRows == 1)
        return dot_block<1, kOutputs>;
    else
        return rows == kRows ? dot_block<kRows, kOutputs> : dot_block_of_rows<kOutputs, kRows - 1>(rows);
}

template <std::size_t kOutputs = kDotOutputs>
FEDHIVE_INLINE DotBlock dot_block_of(std::size_t rows, std::size_t outputs) {
    if constexpr (kOutputs == 1)
        return dot_block_of_rows<1>(rows);
    else
        return outputs >= kOutputs ? dot_block_of_rows<kOutputs>(rows) : dot_block_of<kOutputs - 1>(rows, outputs);
}

/// Computes all rows for one block of outputs after another, so that a block's weights stay cached.
static void dot(const Dot& t) {
    for (std::size_t chunk = 0; chunk < t.length; chunk += kDotChunk) {
        const std::size_t length = least(kDotChunk, t.length - chunk);
        for (std::size_t o = 0; o < t.outputs; o += kDotOutputs)
            in_parts(
                t.rows, kDotRows, [&](std::size_t row, std::size_t rows) __attribute__((always_inline)) {
                    dot_block_of(rows, t.outputs - o)(t, t.x + static_cast<Stride>(row) * t.x_row + chunk,
                                                      t.w + static_cast<Stride>(o) * t.w_row + chunk, length, chunk == 0,
                                                      t.bias + o, t.y + static_cast<Stride>(row) * t.y_row + o);
                });
    }
}

template <std::size_t kRows, std::size_t kVectors>
static void sparse_block(const SparseUpdate& t, std::size_t row, std::size_t column, Mask tail) {
    Lanes sums[kRows][kVectors];
    float* out = t.out + static_cast<Stride>(row) * t.out_row + column;
    const float* m = t.m + static_cast<Stride>(row) * t.m_row + column;
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            const float* from = out + static_cast<Stride>(r) * t.out_row + v * kLanes;
            sums[r][v] = v + 1 == kVectors ? load(from, tail) : load(from);
        }
    }
    for (std::size_t n = 0; n < t.count; ++n) {
        const Lanes value = all(t.values[n]);
        const float* at = m + t.at[n];
        FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
            FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
                const float* from = at + static_cast<Stride>(r) * t.m_row + v * kLanes;
                sums[r][v] = fma(value, v + 1 == kVectors ? load(from, tail) : load(from), sums[r][v]);
            }
        }
    }
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            float* to = out + static_cast<Stride>(r) * t.out_row + v * kLanes;
            if (v + 1 == kVectors)
                store(to, sums[r][v], tail);
            else
                store(to, sums[r][v]);
        }
    }
}

using SparseBlock = void (*)(const SparseUpdate&, std::size_t, std::size_t, Mask);

inline constexpr std::size_t kMostSparseRows = kSparseRegisters < 6 ? kSparseRegisters : 6;
template <std::size_t kVectors>
inline constexpr std::size_t kSparseRows =
    kSparseRegisters / kVectors < kMostSparseRows ? kSparseRegisters / kVectors : kMostSparseRows;

template <std::size_t kVectors, std::size_t kRows>
FEDHIVE_INLINE SparseBlock sparse_block_of(std::size_t rows) {
    if constexpr (kRows == 1)
        return sparse_block<1, kVectors>;
    else
        return rows == kRows ? sparse_block<kRows, kVectors> : sparse_block_of<kVectors, kRows - 1>(rows);
}

template <std::size_t kVectors>
FEDHIVE_INLINE void sparse_strip(const SparseUpdate& t, std::size_t column, Mask tail) {
    in_parts(
        t.rows, kSparseRows<kVectors>, [&](std::size_t row, std::size_t rows) __attribute__((always_inline)) {
            sparse_block_of<kVectors, kSparseRows<kVectors>>(rows)(t, row, column, tail);
        });
}

template <std::size_t kVectors = kSparseVectors>
FEDHIVE_INLINE void sparse_strip_of(const SparseUpdate& t, std::size_t column, std::size_t vectors, Mask tail) {
    if constexpr (kVectors == 1)
        sparse_strip<1>(t, column, tail);
    else if (vectors == kVectors)
        sparse_strip<kVectors>(t, column, tail);
    else
        sparse_strip_of<kVectors - 1>(t, column, vectors, tail);
}

/// Strips of at most kSparseVectors vectors of columns.
static void sparse_update(const SparseUpdate& t) {
    if (t.count == 0) return;
    const std::size_t all_vectors = (t.columns + kLanes - 1) / kLanes;
    in_parts(
        all_vectors, kSparseVectors, [&](std::size_t vector, std::size_t vectors) __attribute__((always_inline)) {
            const std::size_t column = vector * kLanes;
            sparse_strip_of(t, column, vectors, first_lanes(t.columns - column - (vectors - 1) * kLanes));
        });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
