// Elementwise kernels: pools, ReLU, exponentials, the loss, dropout.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/shared_rules.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// max(v, 0); a NaN stays NaN, as in PyTorch.
FEDHIVE_INLINE Lanes cut_off(Lanes v) { return choose(not_above(v, zero()), zero(), v); }

/// best = max(best, other), with argmax; keeps `best` if equal, takes `other` if it is NaN.
FEDHIVE_INLINE void take_larger(Lanes other, Lanes other_argmax, Lanes& best, Lanes& argmax) {
    const Mask takes = either(greater(other, best), is_nan(other));
    best = choose(takes, other, best);
    argmax = choose(takes, other_argmax, argmax);
}

/// Writes y and argmax of one window for one vector of channels, as Pool2x2.
template <typename Terms>
FEDHIVE_INLINE void pool_window(const Terms& t, const Lanes (&values)[4], std::size_t pixel, std::size_t c) {
    const std::size_t n = least(kLanes, t.channels - c);
    const Mask there = first_lanes(n);
    Lanes best = values[0], argmax = zero();
    FEDHIVE_UNROLL for (std::size_t q = 1; q < 4; ++q) take_larger(values[q], all(static_cast<float>(q)), best, argmax);
    best = add(best, load(t.bias + c, there));
    if (t.scale != nullptr) best = mul(best, load(t.scale + c, there));
    if (t.relu) {
        argmax = choose(not_above(best, zero()), all(static_cast<float>(kMasked)), argmax);
        best = cut_off(best);
    }
    store(t.y + pixel * t.channels + c, best, there);
    store_bytes(t.argmax + pixel * t.channels + c, argmax, n);
}

static void pool2x2(const Pool2x2& t) {
    for (std::size_t p = 0; p < t.pixels; ++p) {
        const float *upper = t.upper + 2 * p * t.padded, *lower = t.lower + 2 * p * t.padded;
        for (std::size_t c = 0; c < t.channels; c += kLanes)
            pool_window(t, {load(upper + c), load(upper + t.padded + c), load(lower + c), load(lower + t.padded + c)}, p, c);
    }
}

static std::size_t sparse_channel_gradient(const SparseChannelGradient& t) {
    std::size_t count = 0;
    for (std::size_t p = 0; p < t.pixels; ++p) {
        const float value = t.values[p * t.stride];
        const std::uint8_t argmax = t.argmax[p * t.stride];
        t.at[count] = t.at_pixel[p] + t.at_window[argmax] + t.add;
        t.listed[count] = value;
        count += static_cast<std::size_t>(argmax != kMasked) &
                 static_cast<std::size_t>(value != 0.0F);  // the next entry overwrites one that is 0
    }
    return count;
}

static void sparse_pixel_gradient(SparsePixelGradient& t) {
    for (std::size_t& count : t.counts) count = 0;
#if defined(FEDHIVE_AVX512)
    for (std::size_t c = 0; c < t.channels; c += kLanes) {
        const Mask there = first_lanes(t.channels - c);
        const Lanes values = load(t.values + c, there);
        const __m512i argmax = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, t.argmax + c));
        const __m512i at = _mm512_loadu_si512(t.at_channel + c);
        const Mask counts = _mm512_mask_cmp_ps_mask(there, values, zero(), _CMP_NEQ_UQ);
        for (std::size_t q = 0; q < kMasked; ++q) {
            const Mask mask = _mm512_mask_cmpeq_epi32_mask(counts, argmax, _mm512_set1_epi32(static_cast<int>(q)));
            store(t.listed[q] + t.counts[q], _mm512_maskz_compress_ps(mask, values));
            _mm512_storeu_si512(t.at[q] + t.counts[q], _mm512_maskz_compress_epi32(mask, at));
            t.counts[q] += static_cast<std::size_t>(__builtin_popcount(mask));
        }
    }
#else
    for (std::size_t c = 0; c < t.channels; ++c) {
        const std::uint8_t q = t.argmax[c];
        if (q == kMasked || t.values[c] == 0.0F) continue;
        t.at[q][t.counts[q]] = t.at_channel[c];
        t.listed[q][t.counts[q]++] = t.values[c];
    }
#endif
}

static void bias_relu(const BiasRelu& t) {
    for (std::size_t p = 0; p < t.pixels; ++p)
        for (std::size_t c = 0; c < t.channels; c += kLanes) {
            const Mask there = first_lanes(t.channels - c);
            const Lanes value = add(load(t.x + p * t.padded + c), load(t.bias + c, there));
            store(t.y + p * t.channels + c, t.relu ? cut_off(value) : value, there);
        }
}

/// BiasReluBackward for kVectors vectors of channels from c on; the last one masked to `there`.
template <std::size_t kVectors>
FEDHIVE_INLINE void bias_relu_strip(const BiasReluBackward& t, std::size_t c, Mask there) {
    const auto read = [&](const float* from, std::size_t v) __attribute__((always_inline)) {
        return v + 1 == kVectors ? load(from + v * kLanes, there) : load(from + v * kLanes);
    };
    const auto write = [&](float* to, std::size_t v, Lanes value) __attribute__((always_inline)) {
        if (v + 1 == kVectors)
            store(to + v * kLanes, value, there);
        else
            store(to + v * kLanes, value);
    };
    Lanes sums[kVectors];
    FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) sums[v] = read(t.bias_sums + c, v);
    for (std::size_t p = 0; p < t.pixels; ++p) {
        const std::size_t at = p * t.channels + c;
        FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
            Lanes value = read(t.gradient + at, v);
            if (t.y != nullptr) value = choose(not_above(read(t.y + at, v), zero()), zero(), value);
            if (t.to != nullptr) write(t.to + at, v, value);
            sums[v] = add(sums[v], value);
        }
    }
    FEDHIVE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) write(t.bias_sums + c, v, sums[v]);
}

/// Strips of four vectors of channels, whose additions overlap: a sum takes its pixels one by one.
static void bias_relu_backward(const BiasReluBackward& t) {
    constexpr std::size_t kVectors = 4;
    std::size_t c = 0;
    for (; c + kVectors * kLanes <= t.channels; c += kVectors * kLanes) bias_relu_strip<kVectors>(t, c, first_lanes(kLanes));
    for (; c < t.channels; c += kLanes) bias_relu_strip<1>(t, c, first_lanes(t.channels - c));
}

static void add_values(const float* a, const float* b, float* y, std::size_t size, bool relu) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        const Lanes sum = add(load(a + i, there), load(b + i, there));
        store(y + i, relu ? cut_off(sum) : sum, there);
    }
}

static void relu(const float* x, float* y, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        store(y + i, cut_off(load(x + i, there)), there);
    }
}

static void relu_gradient(const float* y, const float* gradient, float* out, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        store(out + i, choose(not_above(load(y + i, there), zero()), zero(), load(gradient + i, there)), there);
    }
}

/// f(i) for i < kCount.
template <std::size_t kCount, typename F>
FEDHIVE_INLINE void for_each_of(F f) {
    FEDHIVE_UNROLL for (std::size_t i = 0; i < kCount; ++i) f(i);
}

/// Applies work to kTogether vectors, or one, at a time: write(first, work(read(first))) for the vectors of [0, size).
template <typename Read, typename Work, typename Write>
FEDHIVE_INLINE void over_vectors(std::size_t size, Read read, Work work, Write write) {
    std::size_t c = 0;
    for (; c + kTogether * kLanes <= size; c += kTogether * kLanes) {
        Lanes values[kTogether];
        const Mask there = first_lanes(kLanes);
        for_each_of<kTogether>([&](std::size_t i) __attribute__((always_inline)) { values[i] = read(c + i * kLanes, there); });
        work(values);
        for_each_of<kTogether>([&](std::size_t i) __attribute__((always_inline)) { write(c + i * kLanes, values[i], there); });
    }
    for (; c < size; c += kLanes) {
        const Mask there = first_lanes(size - c);
        Lanes values[] = {read(c, there)};
        work(values);
        write(c, values[0], there);
    }
}

/// e^x to about 1 ulp; 0 below -87. Cephes' polynomial (https://www.netlib.org/cephes, expf). Several at once: each step of one waits for
/// the step before, so that the processor has work while it waits.
template <std::size_t kCount>
FEDHIVE_INLINE void exponentials(Lanes (&x)[kCount]) {
    Mask tiny[kCount];
    Lanes n[kCount], y[kCount];
    const auto each = [](auto f) __attribute__((always_inline)) { for_each_of<kCount>(f); };
    each([&](std::size_t i) __attribute__((always_inline)) { tiny[i] = not_above(x[i], all(-87.0F)); });
    each([&](std::size_t i) __attribute__((always_inline)) { n[i] = round(mul(x[i], all(1.44269504F))); });
    each([&](std::size_t i) __attribute__((always_inline)) { x[i] = fma(n[i], all(-0.693359375F), x[i]); });
    each([&](std::size_t i) __attribute__((always_inline)) { x[i] = fma(n[i], all(2.12194440e-4F), x[i]); });
    each([&](std::size_t i) __attribute__((always_inline)) { y[i] = fma(all(1.9875691500e-4F), x[i], all(1.3981999507e-3F)); });
    constexpr float kSeries[] = {8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
    FEDHIVE_UNROLL for (const float term : kSeries) {
        each([&](std::size_t i) __attribute__((always_inline)) { y[i] = fma(y[i], x[i], all(term)); });
    }
    each([&](std::size_t i) __attribute__((always_inline)) { y[i] = fma(y[i], mul(x[i], x[i]), add(x[i], all(1.0F))); });
    each([&](std::size_t i) __attribute__((always_inline)) {
        x[i] = choose(tiny[i], zero(), mul(y[i], power_of_two(choose(tiny[i], zero(), n[i]))));
    });
}
FEDHIVE_INLINE Lanes exponential(Lanes x) {
    Lanes one[] = {x};
    exponentials(one);
    return one[0];
}

/// numbers[i] = ln(numbers[i]) for positive normal numbers, by exponent and atanh series of the mantissa; NaN and infinity
/// stay. The same bits on every machine. Branch-free over kLanes numbers, so that the compiler vectorises it.
FEDHIVE_INLINE void take_logarithms(double (&numbers)[kLanes]) {
    for (double& number : numbers) {
        const double x = number;
        std::uint64_t bits = 0;
        __builtin_memcpy(&bits, &x, sizeof bits);
        const std::uint64_t of_mantissa = (bits & 0xFFFFFFFFFFFFFU) | (std::uint64_t{1022} << 52);
        const std::uint64_t of_exponent = (bits >> 52) | (std::uint64_t{1023 + 52} << 52);  // 2^52 + exponent
        double mantissa = 0.0, exponent = 0.0;
        __builtin_memcpy(&mantissa, &of_mantissa, sizeof mantissa);  // in [0.5, 1)
        __builtin_memcpy(&exponent, &of_exponent, sizeof exponent);
        const bool small = mantissa < 0.70710678118654752;
        exponent -= small ? 0x1p52 + 1023.0 : 0x1p52 + 1022.0;
        mantissa = small ? mantissa * 2.0 : mantissa;
        const double z = (mantissa - 1.0) / (mantissa + 1.0), square = z * z;
        double series = 0.0;
        FEDHIVE_UNROLL for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
        const double found = 2.0 * z * series + exponent * 0.69314718055994531;
        number = x < __builtin_inf() ? found : x;
    }
}

FEDHIVE_INLINE std::size_t label_of(const SoftmaxLoss& t, std::size_t row) { return static_cast<std::size_t>(t.labels[row]); }

/// One vector of a row's scores, -infinity in lanes beyond its end.
FEDHIVE_INLINE Lanes scores_at(const float* scores, Mask there) {
    return choose(there, load(scores, there), all(-__builtin_inff()));
}

/// Softmax of rows with at most kLanes classes, [rows][classes]. Results wait in `gradients` until all rows are read: a row's
/// vector overlaps the next row, whose load would stall on the store.
static void softmax_rows(const SoftmaxLoss& t, float* scores, std::size_t rows, double* totals, double* largest_of_row) {
    float gradients[kLanes][kLanes];
    const Mask there = first_lanes(t.classes);
    for (std::size_t r = 0; r < rows; ++r) {
        const Lanes row = scores_at(scores + r * t.classes, there);
        const float most = largest(row);
        const Lanes powers = choose(there, exponential(sub(row, all(most))), zero());
        const float total = sum(powers);
        store(gradients[r], mul(powers, all(t.weight / total)));
        largest_of_row[r] = static_cast<double>(most);
        totals[r] = static_cast<double>(total);
    }
    for (std::size_t r = 0; r < rows; ++r) store(scores + r * t.classes, load(gradients[r]), there);
}

/// softmax_rows for any number of classes.
static void softmax_long_rows(const SoftmaxLoss& t, float* scores, std::size_t rows, double* totals, double* largest_of_row) {
    for (std::size_t r = 0; r < rows; ++r, scores += t.classes) {
        Lanes found = all(-__builtin_inff());
        for (std::size_t c = 0; c < t.classes; c += kLanes)
            found = larger(scores_at(scores + c, first_lanes(t.classes - c)), found);
        const float most = largest(found);
        Lanes sums = zero();
        for (std::size_t c = 0; c < t.classes; c += kLanes) {
            const Mask there = first_lanes(t.classes - c);
            const Lanes powers = exponential(sub(load(scores + c, there), all(most)));
            store(scores + c, powers, there);
            sums = add(sums, choose(there, powers, zero()));
        }
        const float total = sum(sums);
        const Lanes share = all(t.weight / total);
        for (std::size_t c = 0; c < t.classes; c += kLanes) {
            const Mask there = first_lanes(t.classes - c);
            store(scores + c, mul(load(scores + c, there), share), there);
        }
        largest_of_row[r] = static_cast<double>(most);
        totals[r] = static_cast<double>(total);
    }
}

/// No branch depends on the scores, so the processor works on several rows at once. A row with a NaN may get any maximum, since its sum is
/// NaN in any case.
static double softmax_loss(const SoftmaxLoss& t) {
    double losses = 0.0;
    for (std::size_t first = 0; first < t.rows; first += kLanes) {
        const std::size_t rows = least(kLanes, t.rows - first);
        float* scores = t.scores + first * t.classes;
        double of_label[kLanes], logarithms[kLanes], largest_of_row[kLanes];
        for (std::size_t r = 0; r < rows; ++r)
            of_label[r] = static_cast<double>(scores[r * t.classes + label_of(t, first + r)]);
        for (double& one : logarithms) one = 1.0;
        (t.classes <= kLanes ? softmax_rows : softmax_long_rows)(t, scores, rows, logarithms, largest_of_row);
        take_logarithms(logarithms);
        for (std::size_t r = 0; r < rows; ++r) {
            scores[r * t.classes + label_of(t, first + r)] -= t.weight;
            losses += logarithms[r] - (of_label[r] - largest_of_row[r]);
        }
    }
    return losses;
}

/// tanh by e^(-2|x|), which never overflows; near 0, where that loses digits, by a polynomial (Cephes, tanhf).
template <std::size_t kCount>
FEDHIVE_INLINE void hyperbolics(Lanes (&values)[kCount]) {
    const auto each = [](auto f) __attribute__((always_inline)) { for_each_of<kCount>(f); };
    const auto magnitude = [&](std::size_t i) __attribute__((always_inline)) {
        return choose(not_above(values[i], zero()), sub(zero(), values[i]), values[i]);
    };
    Lanes power[kCount], square[kCount], near[kCount];
    each([&](std::size_t i) __attribute__((always_inline)) { power[i] = mul(magnitude(i), all(-2.0F)); });
    exponentials(power);
    each([&](std::size_t i)
             __attribute__((always_inline)) { power[i] = div(sub(all(1.0F), power[i]), add(all(1.0F), power[i])); });
    each([&](std::size_t i) __attribute__((always_inline)) { square[i] = mul(values[i], values[i]); });
    each([&](std::size_t i)
             __attribute__((always_inline)) { near[i] = fma(all(-5.70498872745e-3F), square[i], all(2.06390887954e-2F)); });
    constexpr float kSeries[] = {-5.37397155531e-2F, 1.33314422036e-1F, -3.33332819422e-1F};
    FEDHIVE_UNROLL for (const float term : kSeries) {
        each([&](std::size_t i) __attribute__((always_inline)) { near[i] = fma(near[i], square[i], all(term)); });
    }
    each([&](std::size_t i) __attribute__((always_inline)) { near[i] = fma(mul(near[i], square[i]), values[i], values[i]); });
    each([&](std::size_t i) __attribute__((always_inline)) {
        const Lanes far = choose(not_above(values[i], zero()), sub(zero(), power[i]), power[i]);
        values[i] = choose(greater(magnitude(i), all(0.625F)), far, near[i]);
    });
}
FEDHIVE_INLINE Lanes hyperbolic(Lanes value) {
    Lanes one[] = {value};
    hyperbolics(one);
    return one[0];
}

static void tanh(const float* x, float* y, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kLanes) {
        const Mask there = first_lanes(size - i);
        store(y + i, hyperbolic(load(x + i, there)), there);
    }
}

static void dropout(const float* x, float* y, std::size_t size, std::uint64_t key, std::uint32_t first, std::uint32_t threshold,
                    float scale) {
    const auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
    for (std::size_t i = 0; i < size; ++i) {
        const float kept = x[i] * scale;
        y[i] = shared::drawn_bits(first + static_cast<std::uint32_t>(i), low, high) < threshold ? 0.0F : kept;
    }
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
