// Gemm of large products. Parts of the factors are copied into the order in which register tiles read them, so that a tile reads whole pages
// and cache lines: Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication", section 4. A sum over many terms is
// interrupted: its value is stored in `out` and read again, which changes no bit.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/gemm_tiles.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// Terms of a sum without interruption: a panel of as many rows of m takes 32 KiB of the L1 cache.
inline constexpr std::size_t kTermsAtOnce = 256;
/// Rows of a block: its kTermsAtOnce terms of a take 384 KiB of the L2 cache.
inline constexpr std::size_t kRowsAtOnce = 384;

/// Terms of a that are copied before the next ones: often they are a page apart, and at most twelve such cache lines fit the L1 cache.
inline constexpr std::size_t kTermsTogether = 8;

/// Whether the product is computed by packed_gemm(): if it has rows and products enough to pay for the copies.
FEDHIVE_INLINE bool is_packed(const Gemm& t) {
    constexpr std::size_t kProducts = std::size_t{1} << 19, kTerms = 64;
    const std::size_t terms = t.outer * t.inner, rows = t.m_panel != 0 ? 2 * kMostRows : 8 * kMostRows;
    return !t.descend && terms >= kTerms && t.rows >= rows && (t.columns >= kPanel || t.a_inner != 1) &&
           t.rows * t.columns * terms >= kProducts;
}

/// Offset of a term, 0 to outer · inner.
FEDHIVE_INLINE Stride at_term(const Gemm& t, std::size_t term, Stride outer, Stride inner) {
    return static_cast<Stride>(term / t.inner) * outer + static_cast<Stride>(term % t.inner) * inner;
}

/// Calls visit(from) for terms [first, first + terms) of a factor, from: the term's values.
template <typename Visit>
FEDHIVE_INLINE void for_each_term(const Gemm& t, const float* factor, Stride outer, Stride inner, std::size_t first,
                                  std::size_t terms, Visit visit) {
    for (std::size_t k = first; k < first + terms;) {
        const float* from = factor + at_term(t, k, outer, inner);
        const std::size_t end = least(first + terms, k + t.inner - k % t.inner);
        for (; k < end; ++k, from += inner) visit(from);
    }
}

/// to[term][row] = a of `rows` adjacent rows, at most kLanes; a: of the first.
static void pack_rows(const Gemm& t, const float* a, std::size_t rows, std::size_t first, std::size_t terms, float* to) {
    const Mask there = first_lanes(rows);
    for_each_term(
        t, a, t.a_outer, t.a_inner, first, terms, [&](const float* from) __attribute__((always_inline)) {
            if (t.a_row == 1) {
                store(to, load(from, there), there);
            } else {
                for (std::size_t r = 0; r < rows; ++r) to[r] = from[static_cast<Stride>(r) * t.a_row];
            }
            to += rows;
        });
}

/// to[term][column] = m of `columns` adjacent columns, at most kPanel; m: of the first.
static void pack_panel(const Gemm& t, const float* m, std::size_t columns, std::size_t first, std::size_t terms, float* to) {
    const bool whole = columns == kPanel, two = columns > kLanes;
    const Mask left = first_lanes(two ? kLanes : columns), right = first_lanes(two ? columns - kLanes : 0);
    for_each_term(
        t, m, t.m_outer, t.m_inner, first, terms, [&](const float* from) __attribute__((always_inline)) {
            store(to, whole ? load(from) : load(from, left));
            if (two) store(to + kLanes, whole ? load(from + kLanes) : load(from + kLanes, right));
            to += kPanel;
        });
}

/// The product of rows [row, row + rows), at most kRowsAtOnce, over terms [first, first + terms).
static void packed_block(const Gemm& t, std::size_t row, std::size_t rows, std::size_t first, std::size_t terms) {
    alignas(64) float packed_a[kRowsAtOnce * kTermsAtOnce];
    alignas(64) float panel[kPanel * kTermsAtOnce];
    const bool copies_a = t.a_inner != 1;
    const float* a = t.a + static_cast<Stride>(row) * t.a_row;
    if (copies_a)
        for (std::size_t k = 0; k < terms; k += kTermsTogether)  // for all tiles, since neighbours share cache lines
            in_parts(
                rows, kMostRows, [&](std::size_t tile, std::size_t size) __attribute__((always_inline)) {
                    pack_rows(t, a + static_cast<Stride>(tile) * t.a_row, size, first + k, least(kTermsTogether, terms - k),
                              packed_a + tile * terms + k * size);
                });
    else
        a += at_term(t, first, t.a_outer, 1);
    Gemm part = t;
    part.outer = 1;
    part.inner = terms;
    part.add = t.add || first > 0;
    part.m_panel = 0;
    if (copies_a) part.a_row = 1;
    for (std::size_t column = 0; column < t.columns; column += kPanel) {
        const std::size_t columns = least(kPanel, t.columns - column);
        if (t.m_panel != 0) {
            part.m = t.m + static_cast<Stride>(column / kPanel) * t.m_panel + at_term(t, first, t.m_outer, t.m_inner);
        } else {
            pack_panel(t, t.m + column, columns, first, terms, panel);
            part.m = panel;
            part.m_inner = kPanel;
        }
        in_parts(
            rows, kMostRows, [&](std::size_t tile, std::size_t size) __attribute__((always_inline)) {
                float* out = t.out + static_cast<Stride>(row + tile) * t.out_row + column;
                if (copies_a) part.a_inner = static_cast<Stride>(size);
                if (tile + size < rows)
                    fetch_tile(out + static_cast<Stride>(size) * t.out_row, t.out_row, least(size, rows - tile - size));
                gemm_rows(part, copies_a ? packed_a + tile * terms : a + static_cast<Stride>(tile) * t.a_row, part.m, out, size,
                          columns);
            });
    }
}

static void packed_gemm(const Gemm& t) {
    const bool one_by_one = t.a_inner == 1 || t.m_panel != 0;  // what is not copied has one stride within a part
    const std::size_t all_terms = t.outer * t.inner;
    in_parts(t.rows, kRowsAtOnce, [&](std::size_t row, std::size_t rows) {
        for (std::size_t first = 0; first < all_terms;) {
            const std::size_t left = one_by_one ? t.inner - first % t.inner : all_terms - first;
            const std::size_t parts = (left + kTermsAtOnce - 1) / kTermsAtOnce, terms = (left + parts - 1) / parts;
            packed_block(t, row, rows, first, terms);
            first += terms;
        }
    });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
