// Kernels of layers on sequences: GELU, layer norm of each position, softmax of attention scores.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Φ(x), the normal distribution function, and exp(-x²/2), of several at once.
template <std::size_t kCount>
struct Normals {
    Lanes below[kCount], bell[kCount];
};

/// Φ(-u) = exp(-u²/2) · t (c1 + t (c2 + …)) with t = 1 / (1 + 0.35 u) for u >= 0. The coefficients minimise the largest relative error
/// for u <= 14: 3e-8, in float 2e-7. Φ(u) = 1 - Φ(-u). Beyond 13.2, where exp is 0, so is Φ(-u).
template <std::size_t kCount>
FEDHIVE_INLINE Normals<kCount> normals(const Lanes (&x)[kCount]) {
    const auto each = [](auto f) __attribute__((always_inline)) { for_each_of<kCount>(f); };
    const auto magnitude = [&](std::size_t i) __attribute__((always_inline)) {
        return choose(not_above(x[i], zero()), sub(zero(), x[i]), x[i]);
    };
    Normals<kCount> of{};
    each([&](std::size_t i) __attribute__((always_inline)) {
        const Lanes u = magnitude(i);
        of.bell[i] = mul(mul(u, u), all(-0.5F));
    });
    exponentials(of.bell);
    Lanes t[kCount], series[kCount];
    each([&](std::size_t i)
             __attribute__((always_inline)) { t[i] = div(all(1.0F), fma(magnitude(i), all(0.35F), all(1.0F))); });
    each([&](std::size_t i) __attribute__((always_inline)) { series[i] = all(-2.914607068e-2F); });
    constexpr float kSeries[] = {1.439723588e-1F, -2.557155641e-1F, 1.591755786e-1F, -2.311074654e-2F,
                                 1.055083569e-1F, 1.198327881e-1F,  1.398618791e-1F, 1.396214039e-1F};
    FEDHIVE_UNROLL for (const float term : kSeries) {
        each([&](std::size_t i) __attribute__((always_inline)) { series[i] = fma(series[i], t[i], all(term)); });
    }
    each([&](std::size_t i) __attribute__((always_inline)) {
        const Lanes tail = mul(of.bell[i], mul(series[i], t[i]));
        of.below[i] = choose(not_above(x[i], zero()), tail, sub(all(1.0F), tail));
    });
    return of;
}

template <std::size_t kCount>
FEDHIVE_INLINE void gelus(Lanes (&values)[kCount]) {
    const Normals<kCount> of = normals(values);
    for_each_of<kCount>([&](std::size_t i) __attribute__((always_inline)) { values[i] = mul(values[i], of.below[i]); });
}

/// The derivatives of gelus().
template <std::size_t kCount>
FEDHIVE_INLINE void gelu_slopes(Lanes (&values)[kCount]) {
    const Normals<kCount> of = normals(values);
    for_each_of<kCount>([&](std::size_t i) __attribute__((always_inline)) {
        values[i] = fma(mul(values[i], all(0.398942280F)), of.bell[i], of.below[i]);
    });
}

static void gelu(const float* x, float* y, std::size_t size) {
    over_vectors(
        size, [&](std::size_t i, Mask there) __attribute__((always_inline)) { return load(x + i, there); },
        [](auto& values) __attribute__((always_inline)) { gelus(values); },
        [&](std::size_t i, Lanes value, Mask there) __attribute__((always_inline)) { store(y + i, value, there); });
}

static void gelu_gradient(const float* x, const float* gradient, float* out, std::size_t size) {
    over_vectors(
        size, [&](std::size_t i, Mask there) __attribute__((always_inline)) { return load(x + i, there); },
        [](auto& values) __attribute__((always_inline)) { gelu_slopes(values); },
        [&](std::size_t i, Lanes slope, Mask there)
            __attribute__((always_inline)) { store(out + i, mul(load(gradient + i, there), slope), there); });
}

static void row_norm(const RowNorm& t) {
    const auto size = static_cast<double>(t.features);
    for (std::size_t r = 0; r < t.rows; ++r) {
        const float* x = t.x + r * t.features;
        float* y = t.y + r * t.features;
        Lanes sums = zero();
        over_channels(
            t.features, [&](std::size_t c, std::size_t, Mask there)
                            __attribute__((always_inline)) { sums = add(sums, load(x + c, there)); });
        const auto mean = static_cast<float>(static_cast<double>(sum(sums)) / size);
        Lanes squares = zero();
        over_channels(
            t.features, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
                const Lanes off = choose(there, sub(load(x + c, there), all(mean)), zero());
                squares = fma(off, off, squares);
            });
        const double variance = static_cast<double>(sum(squares)) / size;
        const auto inverse = static_cast<float>(1.0 / __builtin_sqrt(variance + shared::kNormEpsilon));
        t.mean[r] = mean;
        t.inverse[r] = inverse;
        over_channels(
            t.features, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
                const Lanes normed = mul(sub(load(x + c, there), all(mean)), all(inverse));
                store(y + c, fma(normed, load(t.weight + c, there), load(t.bias + c, there)), there);
            });
    }
}

static void row_norm_back(const RowNormBack& t) {
    const auto size = static_cast<double>(t.features);
    for (std::size_t r = 0; r < t.rows; ++r) {
        const float *x = t.x + r * t.features, *gradient = t.gradient + r * t.features;
        const Lanes mean = all(t.mean[r]), inverse = all(t.inverse[r]);
        Lanes sums = zero(), along = zero();
        over_channels(
            t.features, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
                const Lanes normed = mul(sub(load(x + c, there), mean), inverse), g = load(gradient + c, there);
                store(t.weight_sums + c, fma(g, normed, load(t.weight_sums + c, there)), there);
                store(t.bias_sums + c, add(load(t.bias_sums + c, there), g), there);
                const Lanes weighted = mul(g, load(t.weight + c, there));
                sums = add(sums, weighted);
                along = fma(weighted, choose(there, normed, zero()), along);
            });
        if (t.x_gradient == nullptr) continue;
        const Lanes middle = all(static_cast<float>(static_cast<double>(sum(sums)) / size)),
                    share = all(static_cast<float>(static_cast<double>(sum(along)) / size));
        over_channels(
            t.features, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
                const Lanes normed = mul(sub(load(x + c, there), mean), inverse);
                const Lanes off = sub(mul(load(gradient + c, there), load(t.weight + c, there)), middle);
                store(t.x_gradient + r * t.features + c, mul(sub(off, mul(normed, share)), inverse), there);
            });
    }
}

/// One vector of scores times `scale`; -infinity in the columns that do not count.
FEDHIVE_INLINE Lanes scaled_scores(const float* scores, Mask there, float scale) {
    return choose(there, mul(load(scores, there), all(scale)), all(-__builtin_inff()));
}

static void softmax(const Softmax& t) {
    for (std::size_t r = 0; r < t.rows; ++r) {
        float* row = t.scores + r * t.columns;
        const std::size_t counted = t.causal ? least(r + 1, t.columns) : t.columns;
        Lanes found = all(-__builtin_inff());
        for (std::size_t c = 0; c < counted; c += kLanes)
            found = larger(scaled_scores(row + c, first_lanes(counted - c), t.scale), found);
        const Lanes most = all(largest(found));
        Lanes sums = zero();
        for (std::size_t c = 0; c < counted; c += kLanes) {
            const Mask there = first_lanes(counted - c);
            const Lanes power = choose(there, exponential(sub(scaled_scores(row + c, there, t.scale), most)), zero());
            store(row + c, power, there);
            sums = add(sums, power);
        }
        const Lanes share = all(1.0F / sum(sums));
        for (std::size_t c = 0; c < t.columns; c += kLanes) {
            const Mask in_row = first_lanes(t.columns - c);
            const Lanes power = load(row + c, c < counted ? first_lanes(counted - c) : first_lanes(0));
            store(row + c, mul(power, share), in_row);
        }
    }
}

static void softmax_gradient(const SoftmaxGradient& t) {
    for (std::size_t r = 0; r < t.rows; ++r) {
        const float* shares = t.shares + r * t.columns;
        float* gradient = t.gradient + r * t.columns;
        Lanes sums = zero();
        for (std::size_t c = 0; c < t.columns; c += kLanes) {
            const Mask there = first_lanes(t.columns - c);
            sums = fma(load(shares + c, there), load(gradient + c, there), sums);
        }
        const Lanes mean = all(sum(sums)), scale = all(t.scale);
        for (std::size_t c = 0; c < t.columns; c += kLanes) {
            const Mask there = first_lanes(t.columns - c);
            const Lanes slope = mul(load(shares + c, there), sub(load(gradient + c, there), mean));
            store(gradient + c, mul(slope, scale), there);
        }
    }
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
