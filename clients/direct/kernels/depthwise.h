// Depth-wise convolution, that is, of each channel by itself. SIMD lanes over channels, which are contiguous.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Output pixels [p, p + kPixels) of one vector of channels; each weight is loaded once for all of them.
template <std::size_t kPixels>
FEDHIVE_INLINE void depthwise_pixels(const Depthwise& t, std::size_t p, std::size_t c, Mask there) {
    Lanes sums[kPixels];
    const Lanes bias = t.bias != nullptr ? load(t.bias + c, there) : zero();
    FEDHIVE_UNROLL for (std::size_t q = 0; q < kPixels; ++q) sums[q] = bias;
    const float* x = t.x + static_cast<Stride>(p) * t.x_pixel + c;
    for (std::size_t k1 = 0; k1 < t.lines; ++k1)
        for (std::size_t k2 = 0; k2 < t.taps; ++k2) {
            const auto line = static_cast<Stride>(k1), tap = static_cast<Stride>(k2);
            const Lanes weight = load(t.weights + line * t.w_line + tap * t.w_tap + c, there);
            const float* from = x + line * t.x_line + tap * t.x_tap;
            FEDHIVE_UNROLL for (std::size_t q = 0; q < kPixels; ++q) {
                sums[q] = fma(load(from + static_cast<Stride>(q) * t.x_pixel, there), weight, sums[q]);
            }
        }
    FEDHIVE_UNROLL for (std::size_t q = 0; q < kPixels; ++q) {
        store(t.y + static_cast<Stride>(p + q) * t.y_pixel + c, t.relu ? cut_off(sums[q]) : sums[q], there);
    }
}

static void depthwise(const Depthwise& t) {
    constexpr std::size_t kAtOnce = 4;
    over_channels(
        t.channels, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            std::size_t p = 0;
            for (; p + kAtOnce <= t.pixels; p += kAtOnce) depthwise_pixels<kAtOnce>(t, p, c, there);
            for (; p < t.pixels; ++p) depthwise_pixels<1>(t, p, c, there);
        });
}

/// Adds the sums of kTaps adjacent taps of one kernel row; x: the first tap's input at the first pixel.
template <std::size_t kTaps>
FEDHIVE_INLINE void depthwise_taps(const DepthwiseWeights& t, const float* x, float* to, std::size_t c, Mask there) {
    Lanes sums[kTaps];
    FEDHIVE_UNROLL for (std::size_t k = 0; k < kTaps; ++k) sums[k] = load(to + k * t.channels, there);
    for (std::size_t p = 0; p < t.pixels; ++p) {
        const Lanes gradient = load(t.gradient + p * t.channels + c, there);
        const float* from = x + static_cast<Stride>(p) * t.x_pixel;
        FEDHIVE_UNROLL for (std::size_t k = 0; k < kTaps; ++k) {
            sums[k] = fma(gradient, load(from + k * t.channels, there), sums[k]);
        }
    }
    FEDHIVE_UNROLL for (std::size_t k = 0; k < kTaps; ++k) store(to + k * t.channels, sums[k], there);
}

static void depthwise_weights(const DepthwiseWeights& t) {
    constexpr std::size_t kAtOnce = 3;
    over_channels(
        t.channels, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            for (std::size_t k1 = 0; k1 < t.kernel; ++k1)
                for (std::size_t k2 = 0; k2 < t.kernel; k2 += kAtOnce) {
                    const float* x = t.x + static_cast<Stride>(k1) * t.x_line + k2 * t.channels + c;
                    float* to = t.sums + (k1 * t.kernel + k2) * t.channels + c;
                    const std::size_t left = t.kernel - k2;
                    if (left >= kAtOnce)
                        depthwise_taps<kAtOnce>(t, x, to, c, there);
                    else if (left == 2)
                        depthwise_taps<2>(t, x, to, c, there);
                    else
                        depthwise_taps<1>(t, x, to, c, there);
                }
        });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
