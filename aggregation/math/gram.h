// Inner products of the K vectors u_i of a round, over a range of columns (elements). They give distances, angles and norms: Krum,
// geometric median, centered clipping and others need nothing else of the updates but a weighted sum.
//
// Updates of a round differ little, and f32 products would lose their small differences. So gram() computes ⟨d_i, d_j⟩ of the
// differences d_i = u_i − r, where r is one of the vectors, and ⟨u_i, r⟩; inner_products.h computes ⟨u_i, u_j⟩ from both. An r far
// longer than the other vectors would hide their differences, so the caller takes the vector of median norm.
//
//   columns  1,024 at a time: sixteen f32 lanes, each a chain of fused multiply-adds; the lanes are added in f64 by one tree
//   chunks   added in f64, in the order of columns, within a range of kGramColumns; ranges likewise
//
// So the bits depend neither on the processor nor on who computes which range.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fedhive::aggregation {

/// Columns of one range, which is one task of a worker, or one step of a rank (a process of a run over MPI).
inline constexpr std::size_t kGramColumns = std::size_t{1} << 15;

/// The number of doubles that a range gives for `rows` vectors: ⟨d_i, d_j⟩ for j ≤ i, row after row, then ⟨u_i, r⟩.
constexpr std::size_t gram_values(std::size_t rows) { return rows * (rows + 1) / 2 + rows; }

/// values = the products of columns 0 to columns − 1 of all rows, in the order of gram_values().
///
/// Shapes   rows: [K] pointers to [columns]; K ≥ 1; base < K: the row r; columns ≤ kGramColumns; values: [gram_values(K)].
/// Memory   host: K' × 1,024 floats, K' the next multiple of 12 above K. CUDA: nothing.
/// Stream   CUDA: `values` is host memory; returns when the kernel has run.
/// Throws   ShapeError for another number of values, another base or too many columns; Fault as dispatch().
/// Cost     K (K + 1) / 2 · columns multiply-adds.
void gram(std::span<const float* const> rows, std::size_t base, std::size_t columns, MemorySpace space,
          std::span<double> values);

namespace gram_kernels {

/// Products of a chunk: lower[i (i + 1) / 2 + j] += ⟨rows[i], rows[j]⟩ for j ≤ i < count.
struct Chunk {
    const float* rows = nullptr;  // [padded][kChunk], zeros behind the last row and the last column
    std::size_t count = 0;
    double* lower = nullptr;
};
inline constexpr std::size_t kChunk = 1024;
inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kRowsTogether = 12;  // a multiple of every register tile's sides

struct Kernels {
    std::string_view name;
    void (*lower)(const Chunk&);
    /// Σ a[i] · b[i] over a chunk, with the bits that `lower` gives.
    double (*dot)(const float* a, const float* b);
};

/// The fastest kernels that this processor runs.
const Kernels& kernels();
/// "avx512", "avx2" or "plain"; null if this processor or this build has none of that name.
const Kernels* kernels_by_name(std::string_view name);

}  // namespace gram_kernels
}  // namespace fedhive::aggregation
