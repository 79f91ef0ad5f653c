// Norms over an image's channels. Lanes over channels, which are contiguous, so no sum crosses lanes. A channel's sum over a
// chunk of kNormChunk pixels is four interleaved float sums, of every fourth pixel; chunks are added in double.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Two sums from one pass.
struct Two {
    Lanes sum, along;
};
FEDHIVE_INLINE Two add(const Two& a, const Two& b) { return {add(a.sum, b.sum), add(a.along, b.along)}; }
FEDHIVE_INLINE void clear(Two& sums) { sums = {zero(), zero()}; }
FEDHIVE_INLINE void clear(Lanes& sum) { sum = zero(); }

/// sum = next(p, sum) for each pixel of [first, last), with four independent sums, which hide the latency of additions.
template <typename Sum = Lanes, typename Next>
FEDHIVE_INLINE Sum over_pixels(std::size_t first, std::size_t last, const Next& next) {
    Sum sums[4];
    FEDHIVE_UNROLL for (Sum& sum : sums) clear(sum);
    std::size_t p = first;
    for (; p + 4 <= last; p += 4) {
        FEDHIVE_UNROLL for (std::size_t q = 0; q < 4; ++q) sums[q] = next(p + q, sums[q]);
    }
    FEDHIVE_UNROLL for (std::size_t q = 0; q < 3; ++q) {
        if (p + q < last) sums[q] = next(p + q, sums[q]);
    }
    return add(add(sums[0], sums[1]), add(sums[2], sums[3]));
}

FEDHIVE_INLINE void add_in_double(double* to, Lanes values, std::size_t n) {
    float each[kLanes];
    store(each, values);
    for (std::size_t c = 0; c < n; ++c) to[c] += static_cast<double>(each[c]);
}

/// Calls work(first channel, number of channels, their mask) for each vector of channels.
template <typename Work>
FEDHIVE_INLINE void over_channels(std::size_t channels, const Work& work) {
    for (std::size_t c = 0; c < channels; c += kLanes) {
        const std::size_t n = least(kLanes, channels - c);
        work(c, n, first_lanes(n));
    }
}

static void channel_sums(const ChannelSums& t) {
    for (std::size_t c = 0; c < t.channels; ++c) t.sums[c] = 0.0;
    for (std::size_t first = 0; first < t.pixels; first += kNormChunk) {
        const std::size_t last = least(first + kNormChunk, t.pixels);
        over_channels(
            t.channels, [&](std::size_t c, std::size_t n, Mask there) __attribute__((always_inline)) {
                const float* x = t.x + c;
                Lanes sum = zero();
                if (t.mean == nullptr) {
                    sum = over_pixels(
                        first, last, [&](std::size_t p, Lanes so_far) __attribute__((always_inline)) {
                            return add(so_far, load(x + p * t.channels, there));
                        });
                } else {
                    const Lanes mean = load(t.mean + c, there);
                    sum = over_pixels(
                        first, last, [&](std::size_t p, Lanes so_far) __attribute__((always_inline)) {
                            const Lanes off = sub(load(x + p * t.channels, there), mean);
                            return fma(off, off, so_far);
                        });
                }
                add_in_double(t.sums + c, sum, n);
            });
    }
}

static void norm_rows(const NormRows& t) {
    over_channels(
        t.channels, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes mean = load(t.mean + c, there), scale = load(t.scale + c, there), shift = load(t.shift + c, there);
            for (std::size_t p = 0; p < t.pixels; ++p) {
                const std::size_t at = p * t.channels + c;
                const Lanes value = fma(sub(load(t.x + at, there), mean), scale, shift);
                store(t.y + at, t.relu ? cut_off(value) : value, there);
            }
        });
}

/// The gradient of a norm's output, masked by its ReLU: 0 where y <= 0.
FEDHIVE_INLINE Lanes open_gradient(const float* gradient, const float* y, std::size_t at, Mask there) {
    const Lanes value = load(gradient + at, there);
    return y == nullptr ? value : choose(not_above(load(y + at, there), zero()), zero(), value);
}

static void norm_sums(const NormSums& t) {
    for (std::size_t c = 0; c < t.channels; ++c) t.sums[c] = t.along[c] = 0.0;
    for (std::size_t first = 0; first < t.pixels; first += kNormChunk) {
        const std::size_t last = least(first + kNormChunk, t.pixels);
        over_channels(
            t.channels, [&](std::size_t c, std::size_t n, Mask there) __attribute__((always_inline)) {
                const Lanes mean = load(t.mean + c, there);
                const Two both = over_pixels<Two>(
                    first, last, [&](std::size_t p, const Two& so_far) __attribute__((always_inline)) {
                        const std::size_t at = p * t.channels + c;
                        const Lanes gradient = open_gradient(t.gradient, t.y, at, there);
                        return Two{add(so_far.sum, gradient), fma(gradient, sub(load(t.x + at, there), mean), so_far.along)};
                    });
                add_in_double(t.sums + c, both.sum, n);
                add_in_double(t.along + c, both.along, n);
            });
    }
}

static void norm_back(const NormBack& t) {
    over_channels(
        t.channels, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes mean = load(t.mean + c, there), of_gradient = load(t.of_gradient + c, there),
                        of_value = load(t.of_value + c, there), constant = load(t.constant + c, there);
            for (std::size_t p = 0; p < t.pixels; ++p) {
                const std::size_t at = p * t.channels + c;
                const Lanes off = sub(load(t.x + at, there), mean), gradient = open_gradient(t.gradient, t.y, at, there);
                store(t.x_gradient + at, fma(gradient, of_gradient, fma(off, of_value, constant)), there);
            }
        });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
