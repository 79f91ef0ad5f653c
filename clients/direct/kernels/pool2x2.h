// Convolutions of few channels before a 2 × 2 pool: lanes over pixels, since lanes over channels would be mostly idle.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/gemm.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Convolution sums of each channel: eight pixels of a line, then the eight pixels below them.
struct alignas(64) PixelLanes {
    float of[kMostRows][2 * kPixelsAtOnce];
};

/// Lanes [0, 8) from upper[0, 8), lanes [8, 16) from lower[0, 8). The masked load needs no shuffle, which would take an FMA
/// unit's port.
FEDHIVE_INLINE Lanes load_two(const float* upper, const float* lower) {
#if defined(FEDHIVE_AVX512)
    return _mm512_mask_loadu_ps(_mm512_castps256_ps512(_mm256_loadu_ps(upper)), 0xFF00, lower - kPixelsAtOnce);
#elif defined(FEDHIVE_AVX2)
    return {_mm256_loadu_ps(upper), _mm256_loadu_ps(lower)};
#else
    return each([&](std::size_t l) { return l < kPixelsAtOnce ? upper[l] : lower[l - kPixelsAtOnce]; });
#endif
}

/// Convolution sums of channels [c, c + kRows) at the kPlaces pixel groups `x`.
template <std::size_t kRows, std::size_t kPlaces>
static void convolve_block(const ConvolvePool2x2& t, const float* const* x, std::size_t c, PixelLanes* to) {
    Lanes sums[kRows][kPlaces];
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kPlaces; ++v) sums[r][v] = zero();
    }
    const float* weights = t.weights + c;
    for (std::size_t k = 0; k < t.taps; ++k, weights += t.padded) {
        Lanes from[kPlaces];
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kPlaces; ++v) from[v] = load_two(x[v] + t.at[k], x[v] + t.at[k] + t.x_line);
        FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
            const Lanes factor = all(weights[r]);
            FEDHIVE_UNROLL for (std::size_t v = 0; v < kPlaces; ++v) sums[r][v] = fma(factor, from[v], sums[r][v]);
        }
    }
    FEDHIVE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kPlaces; ++v) store(to[v].of[r], sums[r][v]);
    }
}

using ConvolveBlock = void (*)(const ConvolvePool2x2&, const float* const*, std::size_t, PixelLanes*);

/// The block function for `rows` channels, 1 to kRows.
template <std::size_t kPlaces, std::size_t kRows = kMostRows>
FEDHIVE_INLINE ConvolveBlock convolve_block_of(std::size_t rows) {
    if constexpr (kRows == 1)
        return convolve_block<1, kPlaces>;
    else
        return rows == kRows ? convolve_block<kRows, kPlaces> : convolve_block_of<kPlaces, kRows - 1>(rows);
}

/// Pools `pixels` windows, 1 to 4, of channel r of `convolved`; writes channel c of output pixels [pixel, pixel + pixels).
FEDHIVE_INLINE void pool_channel(const ConvolvePool2x2& t, const PixelLanes& convolved, std::size_t pixel, std::size_t pixels,
                                 std::size_t r, std::size_t c) {
    for (std::size_t p = 0; p < pixels; ++p) {
        const float *upper = convolved.of[r] + 2 * p, *lower = upper + kPixelsAtOnce;
        const float four[kMasked] = {upper[0], upper[1], lower[0], lower[1]};
        float best = four[0];
        std::uint8_t argmax = 0;
        for (std::uint8_t q = 1; q < kMasked; ++q) {
            if (!(four[q] > best) && !__builtin_isnan(four[q])) continue;
            best = four[q];
            argmax = q;
        }
        best += t.bias[c];
        if (t.scale != nullptr) best *= t.scale[c];
        const bool masked = t.relu && best <= 0.0F;
        const std::size_t at = (pixel + p) * t.channels + c;
        t.y[at] = masked ? 0.0F : best;
        t.argmax[at] = masked ? kMasked : argmax;
    }
}

#if defined(FEDHIVE_AVX512)
/// pool_channel for four channels at once: lane 4p + c holds pixel p, channel c.
FEDHIVE_INLINE void pool_four(const ConvolvePool2x2& t, const PixelLanes& convolved, std::size_t pixel, std::size_t pixels,
                              std::size_t r, std::size_t c) {
    const __m512i left = _mm512_setr_epi32(0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30),
                  right = _mm512_add_epi32(left, _mm512_set1_epi32(1));
    const Lanes a = load(convolved.of[r]), b = load(convolved.of[r + 1]), next = load(convolved.of[r + 2]),
                last = load(convolved.of[r + 3]);
    const Lanes upper = _mm512_shuffle_f32x4(a, b, 0x44), upper_next = _mm512_shuffle_f32x4(next, last, 0x44),
                lower = _mm512_shuffle_f32x4(a, b, 0xEE), lower_next = _mm512_shuffle_f32x4(next, last, 0xEE);
    Lanes best = _mm512_permutex2var_ps(upper, left, upper_next), argmax = zero();
    take_larger(_mm512_permutex2var_ps(upper, right, upper_next), all(1.0F), best, argmax);
    take_larger(_mm512_permutex2var_ps(lower, left, lower_next), all(2.0F), best, argmax);
    take_larger(_mm512_permutex2var_ps(lower, right, lower_next), all(3.0F), best, argmax);
    best = add(best, _mm512_broadcast_f32x4(_mm_loadu_ps(t.bias + c)));
    if (t.scale != nullptr) best = mul(best, _mm512_broadcast_f32x4(_mm_loadu_ps(t.scale + c)));
    if (t.relu) {
        argmax = choose(not_above(best, zero()), all(static_cast<float>(kMasked)), argmax);
        best = cut_off(best);
    }
    float values[kLanes];
    std::uint8_t places[kLanes];
    store(values, best);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(places), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(argmax)));
    for (std::size_t p = 0; p < pixels; ++p) {
        const std::size_t at = (pixel + p) * t.channels + c;
        __builtin_memcpy(t.y + at, values + 4 * p, 4 * sizeof(float));
        __builtin_memcpy(t.argmax + at, places + 4 * p, 4);
    }
}
#endif

/// Pools channels [c, c + channels), four at a time. The last four may repeat channels of the group before, since masked stores of fewer
/// channels are slow.
static void pool_windows(const ConvolvePool2x2& t, const PixelLanes& convolved, std::size_t pixel, std::size_t pixels,
                         std::size_t c, std::size_t channels) {
    std::size_t r = 0;
#if defined(FEDHIVE_AVX512)
    for (; channels >= 4 && r < channels; r += 4) {
        const std::size_t first = least(r, channels - 4);
        pool_four(t, convolved, pixel, pixels, first, c + first);
    }
#endif
    for (; r < channels; ++r) pool_channel(t, convolved, pixel, pixels, r, c + r);
}

static void convolve_pool2x2(const ConvolvePool2x2& t) {
    constexpr std::size_t kWindows = kPixelsAtOnce / 2;
    const std::size_t of_line = (t.pixels + kWindows - 1) / kWindows, places = t.lines * of_line;
    PixelLanes found[kMostVectors] = {};
    for (std::size_t place = 0; place < places; place += kMostVectors) {
        const std::size_t now = least(kMostVectors, places - place);
        const float* x[kMostVectors];
        for (std::size_t v = 0; v < now; ++v)
            x[v] = t.x + static_cast<Stride>((place + v) / of_line * 2) * t.x_line + (place + v) % of_line * kPixelsAtOnce;
        in_parts(
            t.channels, kMostRows, [&](std::size_t c, std::size_t channels) __attribute__((always_inline)) {
                (now == kMostVectors ? convolve_block_of<kMostVectors>(channels) : convolve_block_of<1>(channels))(t, x, c,
                                                                                                                   found);
                for (std::size_t v = 0; v < now; ++v) {
                    const std::size_t line = (place + v) / of_line, pixel = (place + v) % of_line * kWindows;
                    pool_windows(t, found[v], line * t.pixels + pixel, least(kWindows, t.pixels - pixel), c, channels);
                }
            });
    }
}

#if defined(FEDHIVE_AVX512)

/// One vector of channels. A tap's input is looked up by argmax in two lines of the input window, held in one register.
template <std::size_t kKernel>
static void single_channel_gradient_of(const SingleChannelGradient& t, std::size_t c) {
    const Mask there = first_lanes(t.channels - c);
    float* const to = t.sums + c;
    Lanes sums[kKernel][kKernel], of_bias = load(t.bias_sums + c, there);
    FEDHIVE_UNROLL for (std::size_t k1 = 0; k1 < kKernel; ++k1) {
        FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) sums[k1][k2] = load(to + (k1 * kKernel + k2) * t.padded);
    }
    const __m512i of_place = _mm512_setr_epi32(0, 1, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    constexpr auto kSeen = static_cast<__mmask8>((1U << (kKernel + 1)) - 1);  // floats of a line
    for (std::size_t i = 0; i < t.lines; ++i)
        for (std::size_t p = 0; p < t.pixels; ++p) {
            const std::size_t at = (i * t.pixels + p) * t.channels + c;
            const Lanes values = load(t.values + at, there);
            const __m512i argmax = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, t.argmax + at));
            const Mask counts = _mm512_mask_cmplt_epi32_mask(_mm512_cmp_ps_mask(values, zero(), _CMP_NEQ_UQ), argmax,
                                                             _mm512_set1_epi32(kMasked));
            if (counts == 0) continue;
            of_bias = _mm512_mask_add_ps(of_bias, counts, of_bias, values);
            __m512i seen_by[kKernel];
            FEDHIVE_UNROLL for (std::size_t k2 = 0; k2 < kKernel; ++k2) {
                seen_by[k2] =
                    _mm512_add_epi32(_mm512_permutexvar_epi32(argmax, of_place), _mm512_set1_epi32(static_cast<int>(k2)));
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

static void single_channel_gradient(const SingleChannelGradient& t) {
    static_assert(kMostSingleChannelTaps == 5);
    for (std::size_t c = 0; c < t.channels; c += kLanes) {
        if (t.kernel == 5) single_channel_gradient_of<5>(t, c);
        if (t.kernel == 4) single_channel_gradient_of<4>(t, c);
        if (t.kernel == 3) single_channel_gradient_of<3>(t, c);
        if (t.kernel == 2) single_channel_gradient_of<2>(t, c);
        if (t.kernel == 1) single_channel_gradient_of<1>(t, c);
    }
}

#else

static void single_channel_gradient(const SingleChannelGradient& t) {
    for (std::size_t i = 0; i < t.lines; ++i)
        for (std::size_t p = 0; p < t.pixels; ++p)
            for (std::size_t c = 0; c < t.channels; ++c) {
                const std::size_t at = (i * t.pixels + p) * t.channels + c, argmax = t.argmax[at];
                const float value = t.values[at];
                if (argmax == kMasked || value == 0.0F) continue;
                t.bias_sums[c] += value;
                const float* x = t.x + static_cast<Stride>(2 * i + argmax / 2) * t.x_line + 2 * p + argmax % 2;
                for (std::size_t k1 = 0; k1 < t.kernel; ++k1)
                    for (std::size_t k2 = 0; k2 < t.kernel; ++k2) {
                        float& sum = t.sums[(k1 * t.kernel + k2) * t.padded + c];
                        sum = __builtin_fmaf(value, x[static_cast<Stride>(k1) * t.x_line + static_cast<Stride>(k2)], sum);
                    }
            }
}

#endif

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
