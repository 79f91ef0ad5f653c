// Sorts many columns at once by a fixed list of comparisons, each of two whole rows of keys. So the same columns take the same steps on
// every processor. A column is one parameter's values in all updates, a row is one update's.
#pragma once

#include "aggregation/base/clones.h"
#include "aggregation/math/element_ops.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::aggregation {

/// Moves the smaller key of two rows to row `low`, the larger to row `high`.
struct Comparator {
    std::size_t low;
    std::size_t high;
};

/// The comparators of Batcher's merge exchange for any number of rows (Knuth, The Art of Computer Programming, vol. 3, 5.2.2, Algorithm
/// M), without those that do not affect the rows marked in `needed`, [rows].
std::vector<Comparator> sorting_network(std::size_t rows, std::vector<bool> needed);

inline constexpr std::size_t kBlockColumns = 64;  // columns of a block: four vectors of 512 bits per row
inline constexpr std::size_t kLineFloats = 16;    // of a cache line

inline __attribute__((always_inline)) void exchange(std::int32_t* __restrict low, std::int32_t* __restrict high) {
    for (std::size_t c = 0; c < kBlockColumns; ++c) {
        const std::int32_t a = low[c];
        const std::int32_t b = high[c];
        low[c] = b < a ? b : a;
        high[c] = b < a ? a : b;
    }
}

/// keys[k][c] = the key of updates[k][first + c], for c < width; keys: [count][kBlockColumns].
inline __attribute__((always_inline)) void write_keys(std::int32_t* keys, const std::vector<const float*>& updates,
                                                      std::size_t first, std::size_t width) {
    for (std::size_t k = 0; k < updates.size(); ++k) {
        const float* values = updates[k] + first;
        for (std::size_t c = 0; c < width; ++c) keys[k * kBlockColumns + c] = element::order_key(values[c]);
        for (std::size_t c = 0; c < kBlockColumns; c += kLineFloats) __builtin_prefetch(values + kBlockColumns + c);
    }
}

}  // namespace fedhive::aggregation
