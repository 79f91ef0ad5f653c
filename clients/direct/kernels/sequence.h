// Kernels of layers on sequences: GELU, layer norm of each position, softmax of attention scores.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Φ(x), the normal distribution function, and exp(-x²/2).
struct Normal {
    Lanes below, bell;
};

/// Φ(-u) = exp(-u²/2) · t (c1 + t (c2 + …)) with t = 1 / (1 + 0.35 u) for u >= 0. The coefficients minimise the largest relative error
/// for u <= 14: 3e-8, in float 2e-7. Φ(u) = 1 - Φ(-u). Beyond 13.2, where exp is 0, so is Φ(-u).
FEDHIVE_INLINE Normal normal(Lanes x) {
    const Lanes u = choose(not_above(x, zero()), sub(zero(), x), x);
    const Lanes bell = exponential(mul(mul(u, u), all(-0.5F)));
    const Lanes t = div(all(1.0F), fma(u, all(0.35F), all(1.0F)));
    Lanes series = all(-2.914607068e-2F);
    series = fma(series, t, all(1.439723588e-1F));
    series = fma(series, t, all(-2.557155641e-1F));
    series = fma(series, t, all(1.591755786e-1F));
    series = fma(series, t, all(-2.311074654e-2F));
    series = fma(series, t, all(1.055083569e-1F));
    series = fma(series, t, all(1.198327881e-1F));
    series = fma(series, t, all(1.398618791e-1F));
    series = fma(series, t, all(1.396214039e-1F));
    const Lanes tail = mul(bell, mul(series, t));
    return {choose(not_above(x, zero()), tail, sub(all(1.0F), tail)), bell};
}

static void gelu(const float* x, float* y, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        const Lanes value = load(x + i, there);
        store(y + i, mul(value, normal(value).below), there);
    }
}

static void gelu_gradient(const float* x, const float* gradient, float* out, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        const Lanes value = load(x + i, there);
        const Normal of = normal(value);
        const Lanes slope = fma(mul(value, all(0.398942280F)), of.bell, of.below);
        store(out + i, mul(load(gradient + i, there), slope), there);
    }
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
