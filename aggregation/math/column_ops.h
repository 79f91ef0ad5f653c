// Mean and median of a column of updates, as one CUDA thread computes them in registers. The host works on blocks of columns
// and gets the same bits (mean.cpp, median.cpp). These functions also compile for the host,
// so that they are tested without a GPU.
#pragma once

#include "aggregation/math/element_ops.h"

#if defined(__CUDACC__)
#define FEDHIVE_UNROLL _Pragma("unroll")
#else
#define FEDHIVE_UNROLL
#endif

namespace fedhive::aggregation::element {

struct alignas(16) FourFloats {
    float values[4];
};

/// The largest number of partial sums that are alive at once.
FEDHIVE_HOST_DEVICE std::size_t tree_depth(const std::uint8_t* folds, std::size_t count) {
    std::size_t depth = 0;
    std::size_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
        depth += 1 - std::size_t{folds[k]};
        most = depth > most ? depth : most;
    }
    return most;
}

/// tree_mean of columns 4 * four to 4 * four + 3: the work of one CUDA thread. Depth >= tree_depth(). Partial sums are selected
/// by comparison, not by index, so that they stay in registers; kAhead loads are in progress at
/// once. All spans are aligned to 16 bytes.
template <std::size_t Depth>
FEDHIVE_HOST_DEVICE void tree_mean_of_four(float* out, const TreeTerms& terms, std::size_t four) {
    constexpr std::size_t kAhead = 4;
    float sums[Depth][4] = {};
    std::size_t depth = 0;
    const auto fold = [&] {
        --depth;
        FEDHIVE_UNROLL
        for (std::size_t d = 1; d < Depth; ++d)
            if (d == depth) add_row(sums[d - 1], sums[d], 4);
    };
    for (std::size_t k = 0; k < terms.count; k += kAhead) {
        FourFloats loaded[kAhead] = {};
        FEDHIVE_UNROLL
        for (std::size_t ahead = 0; ahead < kAhead; ++ahead)
            if (k + ahead < terms.count) loaded[ahead] = reinterpret_cast<const FourFloats*>(terms.values[k + ahead])[four];
        FEDHIVE_UNROLL
        for (std::size_t ahead = 0; ahead < kAhead; ++ahead) {
            if (k + ahead < terms.count) {
                for (std::size_t folds = terms.folds[k + ahead]; folds > 0; --folds) fold();
                const double scale = terms.scales[k + ahead];
                FEDHIVE_UNROLL
                for (std::size_t d = 0; d < Depth; ++d)
                    if (d == depth)
                        for (std::size_t c = 0; c < 4; ++c) sums[d][c] = weighted(loaded[ahead].values[c], scale);
                ++depth;
            }
        }
    }
    while (depth > 1) fold();
    FourFloats mean;
    for (std::size_t c = 0; c < 4; ++c) mean.values[c] = divided(sums[0][c], terms.total);
    reinterpret_cast<FourFloats*>(out)[four] = mean;
}

FEDHIVE_HOST_DEVICE void exchange(std::int32_t& low, std::int32_t& high) {
    const std::int32_t a = low;
    const std::int32_t b = high;
    low = b < a ? b : a;
    high = b < a ? a : b;
}

/// Batcher's merge exchange (Knuth, The Art of Computer Programming, vol. 3, 5.2.2, Algorithm M) on a power of two of keys,
/// from step (P, Q, R, D) to the end. All indices are constants, so that keys stay in registers and
/// the compiler drops unused comparators.
template <std::size_t Rows, std::size_t P = Rows / 2, std::size_t Q = Rows / 2, std::size_t R = 0, std::size_t D = P>
FEDHIVE_HOST_DEVICE void sort_keys(std::int32_t* keys) {
    FEDHIVE_UNROLL
    for (std::size_t i = 0; i + D < Rows; ++i)
        if ((i & P) == R) exchange(keys[i], keys[i + D]);
    if constexpr (Q > P) {
        sort_keys<Rows, P, Q / 2, P, Q - P>(keys);
    } else if constexpr (P > 1) {
        sort_keys<Rows, P / 2>(keys);
    }
}

/// Median of one column of at most Rows values, each read once: the work of one CUDA thread. Missing rows are filled with
/// smallest and largest keys in alternation, so that the middle does not move.
template <std::size_t Rows>
FEDHIVE_HOST_DEVICE float median_in_registers(const float* const* values, std::size_t count, std::size_t column) {
    constexpr std::int32_t kSmallest = INT32_MIN;
    constexpr std::int32_t kLargest = INT32_MAX;
    std::int32_t keys[Rows];
    FEDHIVE_UNROLL
    for (std::size_t k = 0; k < Rows; ++k)
        keys[k] = k < count ? order_key(values[k][column]) : (Rows - k) % 2 == 0 ? kSmallest : kLargest;
    sort_keys<Rows>(keys);
    const std::int32_t lower = keys[Rows / 2 - 1];
    const std::int32_t above = keys[Rows / 2];
    return middle(lower, count % 2 == 0 ? above : lower);
}

/// Median of one column of any number of values, by bisection over the bits of the key. No memory; reads 33 * count values.
FEDHIVE_HOST_DEVICE float median_by_bisection(const float* const* values, std::size_t count, std::size_t column) {
    std::int64_t low = INT32_MIN;  // the lower middle is in [low, high]
    std::int64_t high = INT32_MAX;
    while (low < high) {
        const std::int64_t half = low + (high - low) / 2;
        std::size_t up_to = 0;
        for (std::size_t k = 0; k < count; ++k) up_to += static_cast<std::size_t>(order_key(values[k][column]) <= half);
        if (up_to > (count - 1) / 2)
            high = half;
        else
            low = half + 1;
    }
    const auto lower = static_cast<std::int32_t>(low);
    std::int32_t above = INT32_MAX;  // the next larger value
    std::size_t up_to = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t key = order_key(values[k][column]);
        if (key <= lower)
            ++up_to;
        else if (key < above)
            above = key;
    }
    return middle(lower, up_to > count / 2 ? lower : above);
}

}  // namespace fedhive::aggregation::element
