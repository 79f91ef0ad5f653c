// The inner products of a chunk (gram.h) in register tiles, for the instruction set of the file that includes this one. All of it is in
// a namespace of that set: the linker merges inline functions of one name, and could so run code for one processor on another.
#pragma once

#include "aggregation/math/gram.h"

#if defined(FEDHIVE_GRAM_AVX512) || defined(FEDHIVE_GRAM_AVX2)
#include <immintrin.h>
#endif

#define FEDHIVE_GRAM_INLINE static inline __attribute__((always_inline))

namespace fedhive::aggregation::gram_kernels::FEDHIVE_GRAM_SET {

#if defined(FEDHIVE_GRAM_AVX512)

using Lanes = __m512;
FEDHIVE_GRAM_INLINE Lanes zero() { return _mm512_setzero_ps(); }
FEDHIVE_GRAM_INLINE Lanes load(const float* p) { return _mm512_loadu_ps(p); }
FEDHIVE_GRAM_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
FEDHIVE_GRAM_INLINE void store(float* p, Lanes v) { _mm512_storeu_ps(p, v); }
inline constexpr std::size_t kTileRows = 4, kTileColumns = 4;

#elif defined(FEDHIVE_GRAM_AVX2)

struct Lanes {
    __m256 low, high;
};
FEDHIVE_GRAM_INLINE Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
FEDHIVE_GRAM_INLINE Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
FEDHIVE_GRAM_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
FEDHIVE_GRAM_INLINE void store(float* p, Lanes v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
}
inline constexpr std::size_t kTileRows = 3, kTileColumns = 2;  // 12 of 16 registers

#else

struct Lanes {
    float at[kLanes];
};
FEDHIVE_GRAM_INLINE Lanes zero() { return {}; }
FEDHIVE_GRAM_INLINE Lanes load(const float* p) {
    Lanes v{};
    for (std::size_t l = 0; l < kLanes; ++l) v.at[l] = p[l];
    return v;
}
FEDHIVE_GRAM_INLINE Lanes fma(const Lanes& a, const Lanes& b, Lanes c) {
    for (std::size_t l = 0; l < kLanes; ++l) c.at[l] = __builtin_fmaf(a.at[l], b.at[l], c.at[l]);
    return c;
}
FEDHIVE_GRAM_INLINE void store(float* p, const Lanes& v) {
    for (std::size_t l = 0; l < kLanes; ++l) p[l] = v.at[l];
}
inline constexpr std::size_t kTileRows = 1, kTileColumns = 1;

#endif

/// The sum of the lanes in f64: lane l joins lane l + 8, then l + 4, l + 2, l + 1.
FEDHIVE_GRAM_INLINE double sum(Lanes v) {
    float lanes[kLanes];
    store(lanes, v);
    double sums[kLanes / 2];
    for (std::size_t l = 0; l < 8; ++l) sums[l] = double{lanes[l]} + double{lanes[l + 8]};
    for (std::size_t l = 0; l < 4; ++l) sums[l] += sums[l + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// lower += ⟨row, column⟩ for row in i … i + kTileRows − 1 and column in j … j + kTileColumns − 1, where column ≤ row < count.
FEDHIVE_GRAM_INLINE void tile(const Chunk& chunk, std::size_t i, std::size_t j) {
    const float* rows = chunk.rows + i * kChunk;
    const float* columns = chunk.rows + j * kChunk;
    Lanes sums[kTileRows][kTileColumns];
    for (auto& row : sums)
        for (Lanes& lanes : row) lanes = zero();
    for (std::size_t at = 0; at < kChunk; at += kLanes) {
        Lanes b[kTileColumns];
        _Pragma("GCC unroll 4") for (std::size_t c = 0; c < kTileColumns; ++c) b[c] = load(columns + c * kChunk + at);
        _Pragma("GCC unroll 4") for (std::size_t r = 0; r < kTileRows; ++r) {
            const Lanes a = load(rows + r * kChunk + at);
            _Pragma("GCC unroll 4") for (std::size_t c = 0; c < kTileColumns; ++c) sums[r][c] = fma(a, b[c], sums[r][c]);
        }
    }
    for (std::size_t r = 0; r < kTileRows; ++r)
        for (std::size_t c = 0; c < kTileColumns; ++c) {
            const std::size_t row = i + r, column = j + c;
            if (row < chunk.count && column <= row) chunk.lower[row * (row + 1) / 2 + column] += sum(sums[r][c]);
        }
}

static void lower(const Chunk& chunk) {
    for (std::size_t i = 0; i < chunk.count; i += kTileRows)
        for (std::size_t j = 0; j < i + kTileRows && j < chunk.count; j += kTileColumns) tile(chunk, i, j);
}

static double dot(const float* a, const float* b) {
    Lanes products = zero();
    for (std::size_t at = 0; at < kChunk; at += kLanes) products = fma(load(a + at), load(b + at), products);
    return sum(products);
}

}  // namespace fedhive::aggregation::gram_kernels::FEDHIVE_GRAM_SET
