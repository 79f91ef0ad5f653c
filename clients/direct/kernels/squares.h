// What convolutions of few channels do for the squares of a 2 x 2 pool behind them: lanes that would stay empty are used.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

#if defined(FEDHIVE_AVX512)

/// Of one vector of channels. What a channel's tap saw is looked up, by the square's place, in a line of the window and the one below it.
template <std::size_t kKernel>
static void grey_sums_of(const GreySums& t, std::size_t c) {
    const Mask there = first_lanes(t.channels - c);
    float* const to = t.sums + c;
    Lanes sums[kKernel][kKernel], of_bias = load(t.bias_sums + c, there);
    FEDHIVE_UNROLL for (std::size_t k1 = 0; k1 < kKernel; ++k1) {
        FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) sums[k1][k2] = load(to + (k1 * kKernel + k2) * t.padded);
    }
    const __m512i of_place = _mm512_setr_epi32(0, 1, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    constexpr auto kSeen = static_cast<__mmask8>((1U << (kKernel + 1)) - 1);  // of a line
    for (std::size_t i = 0; i < t.lines; ++i)
        for (std::size_t p = 0; p < t.pixels; ++p) {
            const std::size_t at = (i * t.pixels + p) * t.channels + c;
            const Lanes values = load(t.values + at, there);
            const __m512i which = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, t.which + at));
            const Mask counts = _mm512_mask_cmplt_epi32_mask(_mm512_cmp_ps_mask(values, zero(), _CMP_NEQ_UQ), which,
                                                             _mm512_set1_epi32(kClosed));
            if (counts == 0) continue;
            of_bias = _mm512_mask_add_ps(of_bias, counts, of_bias, values);
            __m512i seen_by[kKernel];
            FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) {
                seen_by[k2] =
                    _mm512_add_epi32(_mm512_permutexvar_epi32(which, of_place), _mm512_set1_epi32(static_cast<int>(k2)));
            }
            const float* x = t.x + static_cast<Stride>(2 * i) * t.x_line + 2 * p;
            FEDHIVE_UNROLL for (std::size_t k1 = 0; k1 < kKernel; ++k1, x += t.x_line) {
                const Lanes window = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_maskz_loadu_ps(kSeen, x)),
                                                        _mm256_maskz_loadu_ps(kSeen, x + t.x_line), 1);
                FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) {
                    sums[k1][k2] =
                        _mm512_mask3_fmadd_ps(values, _mm512_permutexvar_ps(seen_by[k2], window), sums[k1][k2], counts);
                }
            }
        }
    FEDHIVE_UNROLL for (std::size_t k1 = 0; k1 < kKernel; ++k1) {
        FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) store(to + (k1 * kKernel + k2) * t.padded, sums[k1][k2]);
    }
    store(t.bias_sums + c, of_bias, there);
}

static void grey_sums(const GreySums& t) {
    static_assert(kMostGreyTaps == 5);
    for (std::size_t c = 0; c < t.channels; c += kLanes) {
        if (t.kernel == 5) grey_sums_of<5>(t, c);
        if (t.kernel == 4) grey_sums_of<4>(t, c);
        if (t.kernel == 3) grey_sums_of<3>(t, c);
        if (t.kernel == 2) grey_sums_of<2>(t, c);
        if (t.kernel == 1) grey_sums_of<1>(t, c);
    }
}

#else

static void grey_sums(const GreySums& t) {
    for (std::size_t i = 0; i < t.lines; ++i)
        for (std::size_t p = 0; p < t.pixels; ++p)
            for (std::size_t c = 0; c < t.channels; ++c) {
                const std::size_t at = (i * t.pixels + p) * t.channels + c, which = t.which[at];
                const float value = t.values[at];
                if (which == kClosed || value == 0.0F) continue;
                t.bias_sums[c] += value;
                const float* x = t.x + static_cast<Stride>(2 * i + which / 2) * t.x_line + 2 * p + which % 2;
                for (std::size_t k1 = 0; k1 < t.kernel; ++k1)
                    for (std::size_t k2 = 0; k2 < t.kernel; ++k2) {
                        float& sum = t.sums[(k1 * t.kernel + k2) * t.padded + c];
                        sum = __builtin_fmaf(value, x[static_cast<Stride>(k1) * t.x_line + static_cast<Stride>(k2)], sum);
                    }
            }
}

#endif

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
