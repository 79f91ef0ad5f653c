// Lanes: sixteen floats, for the instruction set of the file that includes this one. Everything is always inlined and in a namespace of
// that set, since the linker merges inline functions of one name and could so run code for one processor on another. For the same
// reason no kernel calls the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(FEDHIVE_AVX512) || defined(FEDHIVE_AVX2)
#include <immintrin.h>
#endif

#define FEDHIVE_INLINE static inline __attribute__((always_inline))
#define FEDHIVE_UNROLL _Pragma("GCC unroll 16")

namespace fedhive::clients::direct {

inline constexpr std::size_t kLanes = 16;

namespace FEDHIVE_LANES {

FEDHIVE_INLINE std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }

#if defined(FEDHIVE_AVX512)

using Lanes = __m512;
using Mask = __mmask16;

FEDHIVE_INLINE Mask first_lanes(std::size_t n) { return static_cast<Mask>(n >= kLanes ? 0xFFFFU : (1U << n) - 1U); }
FEDHIVE_INLINE Lanes zero() { return _mm512_setzero_ps(); }
FEDHIVE_INLINE Lanes all(float value) { return _mm512_set1_ps(value); }
FEDHIVE_INLINE Lanes load(const float* p) { return _mm512_loadu_ps(p); }
FEDHIVE_INLINE Lanes load(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
FEDHIVE_INLINE void store(float* p, Lanes v) { _mm512_storeu_ps(p, v); }
FEDHIVE_INLINE void store(float* p, Lanes v, Mask mask) { _mm512_mask_storeu_ps(p, mask, v); }
FEDHIVE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
FEDHIVE_INLINE Lanes add(Lanes a, Lanes b) { return _mm512_add_ps(a, b); }
FEDHIVE_INLINE Lanes sub(Lanes a, Lanes b) { return _mm512_sub_ps(a, b); }
FEDHIVE_INLINE Lanes mul(Lanes a, Lanes b) { return _mm512_mul_ps(a, b); }
FEDHIVE_INLINE Lanes div(Lanes a, Lanes b) { return _mm512_div_ps(a, b); }
FEDHIVE_INLINE Lanes larger(Lanes a, Lanes b) { return _mm512_max_ps(a, b); }  // b where either is a NaN
FEDHIVE_INLINE Lanes round(Lanes a) { return _mm512_roundscale_ps(a, 0x08); }  // to nearest, even
FEDHIVE_INLINE Mask greater(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
FEDHIVE_INLINE Mask not_above(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
FEDHIVE_INLINE Mask is_nan(Lanes a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
FEDHIVE_INLINE Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
FEDHIVE_INLINE Lanes choose(Mask mask, Lanes yes, Lanes no) { return _mm512_mask_blend_ps(mask, no, yes); }
/// 2^n for integers n within the exponents of normal floats.
FEDHIVE_INLINE Lanes power_of_two(Lanes n) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
}
/// Stores the first n lanes, integers from 0 to 255, as bytes.
FEDHIVE_INLINE void store_bytes(std::uint8_t* p, Lanes v, std::size_t n) {
    _mm_mask_storeu_epi8(p, first_lanes(n), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}
FEDHIVE_INLINE void halves(Lanes v, __m256& low, __m256& high) {
    low = _mm512_castps512_ps256(v);
    high = _mm512_extractf32x8_ps(v, 1);
}

/// Sixteen vectors as the rows of a matrix become its columns.
FEDHIVE_INLINE void transpose(Lanes (&rows)[kLanes]) {
    Lanes of[kLanes];
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kLanes; i += 2) {
        of[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
        of[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
    const auto pairs = [](Lanes low, Lanes high) __attribute__((always_inline)) {
        return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(low), _mm512_castps_pd(high)));
    };
    const auto other_pairs = [](Lanes low, Lanes high) __attribute__((always_inline)) {
        return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(low), _mm512_castps_pd(high)));
    };
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kLanes; i += 4) {  // rows[i + q]: column q of each group of four columns
        rows[i] = pairs(of[i], of[i + 2]);
        rows[i + 1] = other_pairs(of[i], of[i + 2]);
        rows[i + 2] = pairs(of[i + 1], of[i + 3]);
        rows[i + 3] = other_pairs(of[i + 1], of[i + 3]);
    }
    FEDHIVE_UNROLL for (std::size_t q = 0; q < 4; ++q) {
        const Lanes even = _mm512_shuffle_f32x4(rows[q], rows[4 + q], 0x88),
                    odd = _mm512_shuffle_f32x4(rows[q], rows[4 + q], 0xDD);
        const Lanes later_even = _mm512_shuffle_f32x4(rows[8 + q], rows[12 + q], 0x88),
                    later_odd = _mm512_shuffle_f32x4(rows[8 + q], rows[12 + q], 0xDD);
        of[q] = _mm512_shuffle_f32x4(even, later_even, 0x88);
        of[4 + q] = _mm512_shuffle_f32x4(odd, later_odd, 0x88);
        of[8 + q] = _mm512_shuffle_f32x4(even, later_even, 0xDD);
        of[12 + q] = _mm512_shuffle_f32x4(odd, later_odd, 0xDD);
    }
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kLanes; ++i) rows[i] = of[i];
}

inline constexpr bool kMasksAreFree = true;
#if defined(FEDHIVE_SANITIZED)
// Smaller tiles for sanitizers: they take a minute to compile those below.
inline constexpr std::size_t kMostVectors = 2, kMostRows = 6;
inline constexpr std::size_t kDotRows = 2, kDotOutputs = 4;
inline constexpr std::size_t kSparseVectors = 4, kSparseRegisters = 8;
inline constexpr std::size_t kMostHeld = 12;
#else
inline constexpr std::size_t kMostVectors = 2, kMostRows = 12;  // Gemm's register tile: 24 of 32 registers
inline constexpr std::size_t kDotRows = 5, kDotOutputs = 4;     // 20 sums
inline constexpr std::size_t kSparseVectors = 4, kSparseRegisters = 24;
inline constexpr std::size_t kMostHeld = 24;  // vectors of x in descend_strip, beside sums, a factor and the rate
#endif
inline constexpr bool kPrefersPixelLanes = true;
inline constexpr std::size_t kTogether = 4;  // vectors that pass through a long chain of operations side by side

#elif defined(FEDHIVE_AVX2)

struct Lanes {
    __m256 low, high;
};
struct Mask {
    __m256 low, high;  // a lane has all bits set or none
};

alignas(64) inline const std::int32_t kEdge[2 * kLanes + 16] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
FEDHIVE_INLINE Mask first_lanes(std::size_t n) {
    const float* from = reinterpret_cast<const float*>(kEdge) + kLanes - least(n, kLanes);
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
FEDHIVE_INLINE Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
FEDHIVE_INLINE Lanes all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
FEDHIVE_INLINE Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
FEDHIVE_INLINE Lanes load(const float* p, Mask mask) {
    return {_mm256_maskload_ps(p, _mm256_castps_si256(mask.low)), _mm256_maskload_ps(p + 8, _mm256_castps_si256(mask.high))};
}
FEDHIVE_INLINE void store(float* p, Lanes v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
}
FEDHIVE_INLINE void store(float* p, Lanes v, Mask mask) {
    _mm256_maskstore_ps(p, _mm256_castps_si256(mask.low), v.low);
    _mm256_maskstore_ps(p + 8, _mm256_castps_si256(mask.high), v.high);
}
FEDHIVE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
FEDHIVE_INLINE Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes sub(Lanes a, Lanes b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes div(Lanes a, Lanes b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes larger(Lanes a, Lanes b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes round(Lanes a) { return {_mm256_round_ps(a.low, 0x08), _mm256_round_ps(a.high, 0x08)}; }
FEDHIVE_INLINE Mask greater(Lanes a, Lanes b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ)};
}
FEDHIVE_INLINE Mask not_above(Lanes a, Lanes b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_LE_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LE_OQ)};
}
FEDHIVE_INLINE Mask is_nan(Lanes a) {
    return {_mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q), _mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q)};
}
FEDHIVE_INLINE Mask either(Mask a, Mask b) { return {_mm256_or_ps(a.low, b.low), _mm256_or_ps(a.high, b.high)}; }
FEDHIVE_INLINE Lanes choose(Mask mask, Lanes yes, Lanes no) {
    return {_mm256_blendv_ps(no.low, yes.low, mask.low), _mm256_blendv_ps(no.high, yes.high, mask.high)};
}
FEDHIVE_INLINE __m256 power_of_two(__m256 n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
FEDHIVE_INLINE Lanes power_of_two(Lanes n) { return {power_of_two(n.low), power_of_two(n.high)}; }
FEDHIVE_INLINE void store_bytes(std::uint8_t* p, Lanes v, std::size_t n) {
    alignas(32) std::int32_t values[kLanes];
    _mm256_store_si256(reinterpret_cast<__m256i*>(values), _mm256_cvtps_epi32(v.low));
    _mm256_store_si256(reinterpret_cast<__m256i*>(values + 8), _mm256_cvtps_epi32(v.high));
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<std::uint8_t>(values[i]);
}
FEDHIVE_INLINE void halves(Lanes v, __m256& low, __m256& high) {
    low = v.low;
    high = v.high;
}

/// The transpose of eight vectors' low or high halves.
FEDHIVE_INLINE void transpose(__m256 (&rows)[8]) {
    __m256 of[8];
    FEDHIVE_UNROLL for (std::size_t i = 0; i < 8; i += 2) {
        of[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        of[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    FEDHIVE_UNROLL for (std::size_t i = 0; i < 8; i += 4) {
        rows[i] = _mm256_shuffle_ps(of[i], of[i + 2], 0x44);
        rows[i + 1] = _mm256_shuffle_ps(of[i], of[i + 2], 0xEE);
        rows[i + 2] = _mm256_shuffle_ps(of[i + 1], of[i + 3], 0x44);
        rows[i + 3] = _mm256_shuffle_ps(of[i + 1], of[i + 3], 0xEE);
    }
    FEDHIVE_UNROLL for (std::size_t q = 0; q < 4; ++q) {
        of[q] = _mm256_permute2f128_ps(rows[q], rows[4 + q], 0x20);
        of[4 + q] = _mm256_permute2f128_ps(rows[q], rows[4 + q], 0x31);
    }
    FEDHIVE_UNROLL for (std::size_t i = 0; i < 8; ++i) rows[i] = of[i];
}
FEDHIVE_INLINE void transpose(Lanes (&rows)[kLanes]) {
    __m256 upper[2][8], lower[2][8];
    FEDHIVE_UNROLL for (std::size_t i = 0; i < 8; ++i) {
        upper[0][i] = rows[i].low;
        upper[1][i] = rows[i].high;
        lower[0][i] = rows[8 + i].low;
        lower[1][i] = rows[8 + i].high;
    }
    FEDHIVE_UNROLL for (std::size_t half = 0; half < 2; ++half) {
        transpose(upper[half]);
        transpose(lower[half]);
        FEDHIVE_UNROLL for (std::size_t i = 0; i < 8; ++i) rows[8 * half + i] = {upper[half][i], lower[half][i]};
    }
}

inline constexpr bool kMasksAreFree = false;
inline constexpr std::size_t kMostVectors = 1, kMostRows = 6;  // 12 of 16 registers
inline constexpr std::size_t kDotRows = 2, kDotOutputs = 3;    // 12
inline constexpr std::size_t kSparseVectors = 3, kSparseRegisters = 6;
inline constexpr std::size_t kMostHeld = 0;  // no room
inline constexpr bool kPrefersPixelLanes = false;
inline constexpr std::size_t kTogether = 1;

#else

struct Lanes {
    float at[kLanes];
};
struct Mask {
    bool at[kLanes];
};

template <typename F>
FEDHIVE_INLINE Lanes each(F f) {
    Lanes out{};
    for (std::size_t l = 0; l < kLanes; ++l) out.at[l] = f(l);
    return out;
}
template <typename F>
FEDHIVE_INLINE Mask where(F f) {
    Mask out{};
    for (std::size_t l = 0; l < kLanes; ++l) out.at[l] = f(l);
    return out;
}
FEDHIVE_INLINE Mask first_lanes(std::size_t n) {
    return where([&](std::size_t l) { return l < n; });
}
FEDHIVE_INLINE Lanes all(float value) {
    return each([&](std::size_t) { return value; });
}
FEDHIVE_INLINE Lanes zero() { return all(0.0F); }
FEDHIVE_INLINE Lanes load(const float* p) {
    return each([&](std::size_t l) { return p[l]; });
}
FEDHIVE_INLINE Lanes load(const float* p, const Mask& mask) {
    return each([&](std::size_t l) { return mask.at[l] ? p[l] : 0.0F; });
}
FEDHIVE_INLINE void store(float* p, const Lanes& v) {
    for (std::size_t l = 0; l < kLanes; ++l) p[l] = v.at[l];
}
FEDHIVE_INLINE void store(float* p, const Lanes& v, const Mask& mask) {
    for (std::size_t l = 0; l < kLanes; ++l)
        if (mask.at[l]) p[l] = v.at[l];
}
FEDHIVE_INLINE Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each([&](std::size_t l) { return __builtin_fmaf(a.at[l], b.at[l], c.at[l]); });
}
FEDHIVE_INLINE Lanes add(const Lanes& a, const Lanes& b) {
    return each([&](std::size_t l) { return a.at[l] + b.at[l]; });
}
FEDHIVE_INLINE Lanes sub(const Lanes& a, const Lanes& b) {
    return each([&](std::size_t l) { return a.at[l] - b.at[l]; });
}
FEDHIVE_INLINE Lanes mul(const Lanes& a, const Lanes& b) {
    return each([&](std::size_t l) { return a.at[l] * b.at[l]; });
}
FEDHIVE_INLINE Lanes div(const Lanes& a, const Lanes& b) {
    return each([&](std::size_t l) { return a.at[l] / b.at[l]; });
}
FEDHIVE_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
    return each([&](std::size_t l) { return a.at[l] > b.at[l] ? a.at[l] : b.at[l]; });
}
FEDHIVE_INLINE Lanes round(const Lanes& a) {
    return each([&](std::size_t l) { return __builtin_rintf(a.at[l]); });
}
FEDHIVE_INLINE Mask greater(const Lanes& a, const Lanes& b) {
    return where([&](std::size_t l) { return a.at[l] > b.at[l]; });
}
FEDHIVE_INLINE Mask not_above(const Lanes& a, const Lanes& b) {
    return where([&](std::size_t l) { return a.at[l] <= b.at[l]; });
}
FEDHIVE_INLINE Mask is_nan(const Lanes& a) {
    return where([&](std::size_t l) { return __builtin_isnan(a.at[l]); });
}
FEDHIVE_INLINE Mask either(const Mask& a, const Mask& b) {
    return where([&](std::size_t l) { return a.at[l] || b.at[l]; });
}
FEDHIVE_INLINE Lanes choose(const Mask& mask, const Lanes& yes, const Lanes& no) {
    return each([&](std::size_t l) { return mask.at[l] ? yes.at[l] : no.at[l]; });
}
FEDHIVE_INLINE Lanes power_of_two(const Lanes& n) {
    return each([&](std::size_t l) {
        const std::int32_t bits = __builtin_isnan(n.at[l]) ? 0 : (static_cast<std::int32_t>(n.at[l]) + 127) << 23;
        float value = 0.0F;
        __builtin_memcpy(&value, &bits, sizeof(value));
        return value;
    });
}
FEDHIVE_INLINE void store_bytes(std::uint8_t* p, const Lanes& v, std::size_t n) {
    for (std::size_t l = 0; l < n; ++l) p[l] = static_cast<std::uint8_t>(v.at[l]);
}

FEDHIVE_INLINE void transpose(Lanes (&rows)[kLanes]) {
    for (std::size_t i = 0; i < kLanes; ++i)
        for (std::size_t l = 0; l < i; ++l) {
            const float value = rows[i].at[l];
            rows[i].at[l] = rows[l].at[i];
            rows[l].at[i] = value;
        }
}

inline constexpr bool kMasksAreFree = true;
inline constexpr std::size_t kMostVectors = 1, kMostRows = 2;
inline constexpr std::size_t kDotRows = 1, kDotOutputs = 1;
inline constexpr std::size_t kSparseVectors = 1, kSparseRegisters = 4;
inline constexpr std::size_t kMostHeld = 0;  // no room
inline constexpr bool kPrefersPixelLanes = true;
inline constexpr std::size_t kTogether = 1;

#endif

/// Sum of all lanes by a fixed tree: first the two halves are added, then neighbours, three times.
FEDHIVE_INLINE float sum(const Lanes& v) {
#if defined(FEDHIVE_AVX512) || defined(FEDHIVE_AVX2)
    __m256 low, high;
    halves(v, low, high);
    const __m256 eight = _mm256_add_ps(low, high);
    const __m256 pairs = _mm256_hadd_ps(eight, eight);
    const __m256 fours = _mm256_hadd_ps(pairs, pairs);
    return _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
#else
    float eight[8];
    for (std::size_t l = 0; l < 8; ++l) eight[l] = v.at[l] + v.at[l + 8];
    return ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]));
#endif
}

/// Maximum of all lanes; no lane may be NaN.
FEDHIVE_INLINE float largest(const Lanes& v) {
#if defined(FEDHIVE_AVX512) || defined(FEDHIVE_AVX2)
    __m256 low, high;
    halves(v, low, high);
    const __m256 eight = _mm256_max_ps(low, high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
#else
    float found = v.at[0];
    for (std::size_t l = 1; l < kLanes; ++l) found = v.at[l] > found ? v.at[l] : found;
    return found;
#endif
}

/// to[i] = what[i] + sum(v[i]) with the same tree; up to four at once, since neighbours are added two vectors at a time.
template <std::size_t kCount>
FEDHIVE_INLINE void write_sums(const Lanes (&v)[kCount], const float* what, float* to) {
    static_assert(kCount <= 4);
#if defined(FEDHIVE_AVX512) || defined(FEDHIVE_AVX2)
    __m256 eights[4];
    FEDHIVE_UNROLL for (std::size_t i = 0; i < 4; ++i) {
        __m256 low, high;
        halves(v[i < kCount ? i : 0], low, high);
        eights[i] = _mm256_add_ps(low, high);
    }
    const __m256 fours = _mm256_hadd_ps(_mm256_hadd_ps(eights[0], eights[1]), _mm256_hadd_ps(eights[2], eights[3]));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1));
    if constexpr (kCount == 4) return _mm_storeu_ps(to, _mm_add_ps(four, _mm_loadu_ps(what)));
    float sums[4];
    _mm_storeu_ps(sums, four);
    for (std::size_t i = 0; i < kCount; ++i) to[i] = sums[i] + what[i];
#else
    for (std::size_t i = 0; i < kCount; ++i) to[i] = sum(v[i]) + what[i];
#endif
}

}  // namespace FEDHIVE_LANES
}  // namespace fedhive::clients::direct
