// Mean, median, trimmed mean and deviation of one column, that is, of one parameter's values in all updates, as one CUDA thread computes
// them in registers. The host's own code works on blocks of columns and gives the same bits (mean.cpp, median.cpp, deviation.cpp).
// These functions also compile for the host, so that they are tested without a GPU.
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

/// The largest number of partial sums that the tree of `folds` (TreeTerms) holds at once.
FEDHIVE_HOST_DEVICE std::size_t tree_depth(const std::uint8_t* folds, std::size_t count) {
    std::size_t depth = 0;
    std::size_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
        depth += 1 - std::size_t{folds[k]};
        most = depth > most ? depth : most;
    }
    return most;
}

/// tree_mean of columns 4 * four to 4 * four + 3: the work of one CUDA thread. Depth >= tree_depth(). Partial sums are selected by
/// comparison, not by index, so that they stay in registers; kAhead loads are under way at once. All spans are aligned to 16 bytes.
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

/// Sorts Rows keys, Rows a power of two, by Batcher's merge exchange (Knuth, The Art of Computer Programming, vol. 3, 5.2.2, Algorithm M)
/// from its step (P, Q, R, D) to the end. All indices are constants, so that keys stay in registers and the compiler drops comparators
/// whose results nobody reads.
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

/// The key at index `rank` of the sorted column, by the same bisection.
FEDHIVE_HOST_DEVICE std::int32_t key_at_rank(const float* const* values, std::size_t count, std::size_t column,
                                             std::size_t rank) {
    std::int64_t low = INT32_MIN;
    std::int64_t high = INT32_MAX;
    while (low < high) {
        const std::int64_t half = low + (high - low) / 2;
        std::size_t up_to = 0;
        for (std::size_t k = 0; k < count; ++k) up_to += static_cast<std::size_t>(order_key(values[k][column]) <= half);
        if (up_to > rank)
            high = half;
        else
            low = half + 1;
    }
    return static_cast<std::int32_t>(low);
}

/// One column of trimmed_mean.h: the work of one CUDA thread. Leaves out the `below` smallest and `above` largest values; around_median:
/// the below + above values that are farthest from the median.
FEDHIVE_HOST_DEVICE float trimmed_mean(const TreeTerms& terms, std::size_t below, std::size_t above, bool around_median,
                                       std::size_t column) {
    const std::size_t count = terms.count, left_out = below + above, kept = count - left_out;
    if (around_median) {
        const double median = exact_middle(key_at_rank(terms.values, count, column, (count - 1) / 2),
                                           key_at_rank(terms.values, count, column, count / 2));
        below = 0;
        while (below < left_out && is_closer(key_at_rank(terms.values, count, column, below + kept),
                                             key_at_rank(terms.values, count, column, below), median))
            ++below;
        above = left_out - below;
    }
    const std::int32_t low = key_at_rank(terms.values, count, column, below);
    const std::int32_t high = key_at_rank(terms.values, count, column, count - 1 - above);
    std::size_t smaller = 0, at_least_high = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t key = order_key(terms.values[k][column]);
        smaller += key < low ? 1 : 0;
        at_least_high += key >= high ? 1 : 0;
    }
    // Of the values equal to `low`, the first ones are left out; of those equal to `high`, the last ones.
    const std::size_t first_low = below - smaller, end_high = at_least_high - above;
    std::size_t seen_low = 0, seen_high = 0, depth = 0;
    float sums[kMaxTreeDepth];
    for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t fold = 0; fold < terms.folds[k]; ++fold, --depth) sums[depth - 2] += sums[depth - 1];
        const float value = terms.values[k][column];
        const std::int32_t key = order_key(value);
        const bool is_low = key == low, is_high = key == high;
        const bool in = key >= low && key <= high && !(is_low && seen_low < first_low) && !(is_high && seen_high >= end_high);
        seen_low += is_low ? 1 : 0;
        seen_high += is_high ? 1 : 0;
        sums[depth++] = in ? value : 0.0F;
    }
    for (; depth > 1; --depth) sums[depth - 2] += sums[depth - 1];
    return divided(sums[0], static_cast<double>(kept));
}

/// The standard deviation of one column (deviation.h): the work of one CUDA thread.
FEDHIVE_HOST_DEVICE float column_deviation(const float* const* values, std::size_t count, std::size_t column) {
    const auto total = static_cast<double>(count);
    double sum = 0.0, squares = 0.0;
    for (std::size_t k = 0; k < count; ++k) sum += static_cast<double>(values[k][column]);
    const double mean = sum / total;
    for (std::size_t k = 0; k < count; ++k) squares += squared_deviation(values[k][column], mean);
    return deviation(squares, total);
}

}  // namespace fedhive::aggregation::element
