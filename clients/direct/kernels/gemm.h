// Gemm, Dot and SparseUpdate in register tiles. Tile sizes change no bit: each output adds its own terms in order.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/descent.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Calls take(first, size) for parts of [0, all) of nearly equal size, each at most `most`.
template <typename Take>
FEDHIVE_INLINE void in_parts(std::size_t all, std::size_t most, Take take) {
    const std::size_t parts = (all + most - 1) / most;
    std::size_t first = 0;
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t size = (all - first + parts - part - 1) / (parts - part);
        take(first, size);
        first += size;
    }
}

/// Register tile of kRows × kVectors vectors; with kTail the last vector is masked to the lanes in `tail`.
template <std::size_t kRows, std::size_t kVectors, bool kTail>
static void gemm_block(const Gemm& t, const float* a, const float* m, float* out, Mask tail) {
    constexpr std::size_t kFours = (kRows + 3) / 4;
    const auto each = [](auto of) __attribute__((always_inline)) {
        FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
            FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) of(r, v);
        }
    };
    const auto place = [&](std::size_t r, std::size_t v) __attribute__((always_inline)) {
        return static_cast<Stride>(r) * t.out_row + static_cast<Stride>(v * kLanes);
    };
    const auto read = [&](const float* from, std::size_t v) __attribute__((always_inline)) {
        return kTail && v + 1 == kVectors ? load(from, tail) : load(from);
    };
    const float* before = t.from != nullptr ? t.from + (out - t.out) : out;  // parameters before the step
    Lanes sums[kRows][kVectors];
    if (t.descend)
        each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) { __builtin_prefetch(before + place(r, v)); });
    if (t.add)
        each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) { sums[r][v] = read(out + place(r, v), v); });
    else
        each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) { sums[r][v] = zero(); });
    for (std::size_t k1 = 0; k1 < t.outer; ++k1) {
        const float* of_four[kFours];
        FEDHIVE_UNROLL for (std::size_t f = 0; f < kFours; ++f) {
            of_four[f] = a + static_cast<Stride>(k1) * t.a_outer + static_cast<Stride>(4 * f) * t.a_row;
        }
        const float* m_at = m + static_cast<Stride>(k1) * t.m_outer;
        for (std::size_t k2 = 0; k2 < t.inner; ++k2, m_at += t.m_inner) {
            Lanes from[kVectors];
            FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) from[v] = read(m_at + v * kLanes, v);
            // One pointer for four rows: with an offset per row the compiler runs out of registers, and the spills cost as much
            // as the multiplications.
            FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
                const Lanes factor = all(of_four[r / 4][static_cast<Stride>(r % 4) * t.a_row]);
                FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = fma(factor, from[v], sums[r][v]);
            }
            FEDHIVE_UNROLL for (std::size_t f = 0; f < kFours; ++f) of_four[f] += t.a_inner;
        }
    }
    const auto write = [&](std::size_t r, std::size_t v, Lanes value) __attribute__((always_inline)) {
        if (kTail && v + 1 == kVectors)
            store(out + place(r, v), value, tail);
        else
            store(out + place(r, v), value);
    };
    if (!t.descend) {
        each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) { write(r, v, sums[r][v]); });
    } else {
        if (t.decay != 0.0F)
            each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) {
                sums[r][v] = add(sums[r][v], mul(all(t.decay), read(before + place(r, v), v)));
            });
        each([&](std::size_t r, std::size_t v) __attribute__((always_inline)) {
            write(r, v, sub(read(before + place(r, v), v), mul(all(t.rate), sums[r][v])));
        });
    }
}

using GemmBlock = void (*)(const Gemm&, const float*, const float*, float*, Mask);

/// The tile function for `rows` rows, 1 to kRows.
template <std::size_t kVectors, bool kTail, std::size_t kRows = kMostRows>
FEDHIVE_INLINE GemmBlock gemm_block_of(std::size_t rows) {
    if constexpr (kRows == 1)
        return gemm_block<1, kVectors, kTail>;
    else
        return rows == kRows ? gemm_block<kRows, kVectors, kTail> : gemm_block_of<kVectors, kTail, kRows - 1>(rows);
}

/// Rows of a tile three vectors wide, which has as many sums as a full tile of two vectors.
inline constexpr std::size_t kRowsOfThree = kMostRows * kMostVectors / 3;

/// Whether the columns fill three vectors. Tiles two vectors wide would leave one vector over, which takes more loads than
/// multiplications.
FEDHIVE_INLINE bool is_three(std::size_t columns) { return kMostVectors == 2 && columns > 2 * kLanes && columns <= 3 * kLanes; }

/// Computes columns [column, end) of rows [row, row + rows), rows at most kMostRows.
static void gemm_rows(const Gemm& t, std::size_t row, std::size_t rows, std::size_t column, std::size_t end) {
    const float* a = t.a + static_cast<Stride>(row) * t.a_row;
    float* out = t.out + static_cast<Stride>(row) * t.out_row;
    if constexpr (kMostVectors == 2) {
        if (rows <= kRowsOfThree && is_three(end - column)) {
            if (end - column == 3 * kLanes)
                return gemm_block_of<3, false, kRowsOfThree>(rows)(t, a, t.m + column, out + column, Mask{});
            return gemm_block_of<3, true, kRowsOfThree>(rows)(t, a, t.m + column, out + column,
                                                              first_lanes(end - column - 2 * kLanes));
        }
        const GemmBlock two = gemm_block_of<2, false>(rows);
        for (; column + 2 * kLanes <= end; column += 2 * kLanes) two(t, a, t.m + column, out + column, Mask{});
        if (end - column > kLanes)
            return gemm_block_of<2, true>(rows)(t, a, t.m + column, out + column, first_lanes(end - column - kLanes));
    }
    for (; column + kLanes <= end; column += kLanes) gemm_block_of<1, false>(rows)(t, a, t.m + column, out + column, Mask{});
    if (column < end) gemm_block_of<1, true>(rows)(t, a, t.m + column, out + column, first_lanes(end - column));
}

/// Computes strips of columns whose part of `m` stays in the L1 cache; within a strip, register tiles over the rows.
static void gemm(const Gemm& t) {
    if (descends_by_rows(t)) return descend_by_rows(t);
    constexpr std::size_t kNear = 8192;  // floats
    const std::size_t vectors = kNear / (2 * kLanes * (t.outer * t.inner + 1)) + 1, tile = 2 * kLanes * vectors;
    for (std::size_t column = 0; column < t.columns;) {
        const std::size_t left = t.columns - column, end = column + (is_three(left) ? left : least(tile, left));
        in_parts(
            t.rows,
            is_three(left) ? kRowsOfThree : kMostRows, [&](std::size_t row, std::size_t rows) __attribute__((always_inline)) {
                gemm_rows(t, row, rows, column, end);
            });
        column = end;
    }
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
