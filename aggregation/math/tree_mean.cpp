#include "aggregation/math/tree_mean.h"

#include "aggregation/base/clones.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fedhive::aggregation {

namespace {

constexpr std::size_t kColumns = 1024;  // one page of each slot at a time; a block's partial sums stay in the first-level cache

/// The largest complete subtree, of 2, 4 or 8 leaves, that begins at term k; 1 if there is none.
std::size_t complete_leaves(const element::TreeTerms& terms, std::size_t k) {
    constexpr std::uint8_t kInside[8] = {0, 0, 1, 0, 2, 0, 1, 0};
    std::size_t found = 1;
    for (std::size_t leaves = 2, levels = 1; leaves <= 8 && k + leaves <= terms.count; leaves *= 2, ++levels) {
        for (std::size_t i = leaves / 2; i < leaves; ++i)
            if (terms.folds[k + i] != kInside[i]) return found;
        if (k + leaves < terms.count && terms.folds[k + leaves] < levels) return found;
        found = leaves;
    }
    return found;
}

inline __attribute__((always_inline)) float scaled(float value, double scale) { return element::weighted(value, scale); }

/// As weighted() with a scale that f32 holds: a product of two f32 is exact in f64, so both are rounded once.
inline __attribute__((always_inline)) float scaled(float value, float scale) { return value * scale; }

/// The tree sum of Leaves weighted terms in one pass: the bits of writing each and folding them.
template <std::size_t Leaves, typename Scale>
inline __attribute__((always_inline)) float leaf_sum(const float* const* values, const Scale* scales, std::size_t c) {
    if constexpr (Leaves == 1)
        return scaled(values[0][c], scales[0]);
    else
        return leaf_sum<Leaves / 2>(values, scales, c) + leaf_sum<Leaves / 2>(values + Leaves / 2, scales + Leaves / 2, c);
}

template <std::size_t Leaves, typename Scale>
inline __attribute__((always_inline)) void write_leaf_sums(float* __restrict top, const float* const* terms,
                                                           const Scale* scales, std::size_t first, std::size_t width) {
    const float* values[Leaves];
    Scale own[Leaves];
    for (std::size_t i = 0; i < Leaves; ++i) {
        values[i] = terms[i] + first;
        own[i] = scales[i];
    }
    for (std::size_t c = 0; c < width; ++c) top[c] = leaf_sum<Leaves>(values, own, c);
}

template <typename Scale>
inline __attribute__((always_inline)) void tree_mean_in_passes(float* out, const element::TreeTerms& terms, const Scale* scales,
                                                               const std::vector<std::uint8_t>& leaves, std::size_t size) {
    float sums[element::kMaxTreeDepth][kColumns];
    for (std::size_t first = 0; first < size; first += kColumns) {
        const std::size_t width = std::min(kColumns, size - first);
        std::size_t depth = 0, folded = 0;  // folded: how many of the folds before term k the pass before it has done
        for (std::size_t k = 0, pass = 0; k < terms.count; k += leaves[pass++]) {
            for (std::size_t fold = folded; fold < terms.folds[k]; ++fold, --depth)
                element::add_row(sums[depth - 2], sums[depth - 1], width);
            float* top = sums[depth++];
            switch (leaves[pass]) {
                case 8:
                    write_leaf_sums<8>(top, terms.values + k, scales + k, first, width), folded = 3;
                    break;
                case 4:
                    write_leaf_sums<4>(top, terms.values + k, scales + k, first, width), folded = 2;
                    break;
                case 2:
                    write_leaf_sums<2>(top, terms.values + k, scales + k, first, width), folded = 1;
                    break;
                default:
                    write_leaf_sums<1>(top, terms.values + k, scales + k, first, width), folded = 0;
                    break;
            }
        }
        for (; depth > 1; --depth) element::add_row(sums[depth - 2], sums[depth - 1], width);
        for (std::size_t c = 0; c < width; ++c) out[first + c] = element::divided(sums[0][c], terms.total);
    }
}

/// element::tree_mean with the same bits, up to eight terms in a pass: as many streams from memory, and fewer partial sums are
/// written. leaves: complete_leaves() of each term that begins a pass. short_scales: the scales, if f32 holds all of them.
FEDHIVE_CLONES void tree_mean_on_host(float* out, const element::TreeTerms& terms, const std::vector<float>& short_scales,
                                      const std::vector<std::uint8_t>& leaves, std::size_t size) {
    if (short_scales.empty())
        tree_mean_in_passes(out, terms, terms.scales, leaves, size);
    else
        tree_mean_in_passes(out, terms, short_scales.data(), leaves, size);
}

}  // namespace

void tree_mean(float* out, const element::TreeTerms& terms, std::size_t size) {
    std::vector<std::uint8_t> leaves;
    for (std::size_t k = 0; k < terms.count; k += leaves.back())
        leaves.push_back(static_cast<std::uint8_t>(complete_leaves(terms, k)));
    std::vector<float> short_scales(terms.scales, terms.scales + terms.count);
    if (!std::equal(short_scales.begin(), short_scales.end(), terms.scales)) short_scales.clear();
    tree_mean_on_host(out, terms, short_scales, leaves, size);
}

}  // namespace fedhive::aggregation
