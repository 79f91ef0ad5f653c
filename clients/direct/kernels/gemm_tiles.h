// Register tiles of Gemm. Their size changes no bit: each output adds its own terms in order.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Calls take(first, size) for parts of [0, all) of nearly equal size, each at most `most`.
template <typename Take>
FEDHIVE_INLINE void in_parts(std::size_t all, std::size_t most, Take take) {
    if (all <= most) return take(std::size_t{0}, all);
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
/// Rows of a tile one vector wide. Beside its sums it needs registers for one vector of m alone.
inline constexpr std::size_t kRowsOfOne = kMostVectors == 2 ? kMostRows * 4 / 3 : kMostRows;

/// Whether the columns fill three vectors. Tiles two vectors wide would leave one vector over, which takes more loads than
/// multiplications.
FEDHIVE_INLINE bool is_three(std::size_t columns) { return kMostVectors == 2 && columns > 2 * kLanes && columns <= 3 * kLanes; }

/// Most rows of a tile for the columns of a strip.
FEDHIVE_INLINE std::size_t most_rows(std::size_t columns) {
    return columns <= kLanes ? kRowsOfOne : is_three(columns) ? kRowsOfThree : kMostRows;
}

/// Fetches a tile of kPanel columns of `out`, which the next product reads or writes, into the cache.
FEDHIVE_INLINE void fetch_tile(const float* out, Stride row, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r, out += row) {
        __builtin_prefetch(out);
        __builtin_prefetch(out + kLanes);
    }
}

/// Computes `rows` rows, at most most_rows(columns); a, m, out: at the first row and column.
static void gemm_rows(const Gemm& t, const float* a, const float* m, float* out, std::size_t rows, std::size_t columns) {
    if constexpr (kMostVectors == 2) {
        if (rows <= kRowsOfThree && is_three(columns)) {
            if (columns == 3 * kLanes) return gemm_block_of<3, false, kRowsOfThree>(rows)(t, a, m, out, Mask{});
            return gemm_block_of<3, true, kRowsOfThree>(rows)(t, a, m, out, first_lanes(columns - 2 * kLanes));
        }
        if (columns >= 2 * kLanes) {
            const GemmBlock two = gemm_block_of<2, false>(rows);
            for (; columns >= 2 * kLanes; columns -= 2 * kLanes, m += 2 * kLanes, out += 2 * kLanes) two(t, a, m, out, Mask{});
        }
        if (columns > kLanes) return gemm_block_of<2, true>(rows)(t, a, m, out, first_lanes(columns - kLanes));
    }
    for (; columns >= kLanes; columns -= kLanes, m += kLanes, out += kLanes)
        gemm_block_of<1, false, kRowsOfOne>(rows)(t, a, m, out, Mask{});
    if (columns > 0) gemm_block_of<1, true, kRowsOfOne>(rows)(t, a, m, out, first_lanes(columns));
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
