// The arithmetic that the direct engine is made of, as a table of functions: once for AVX-512, once for AVX2 with FMA, once in plain C++, from
// the same source. All three give the same bits: an output's terms are added in one order, by fused multiply-adds, and a sum over lanes has
// sixteen of them and one shape everywhere.
//
//   lanes    sixteen floats that are computed at once: one register, two, or a loop
//   columns  what lies side by side in memory and goes through the lanes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fedhive::clients::direct {

using Stride = std::ptrdiff_t;  // in floats

/// out[r][i] = Σ_k1 Σ_k2 a[r, k1, k2] · m[k1, k2, i], in this order, for r < rows, i < columns. A matrix product, a convolution, the gradient of
/// either: it depends on the strides.
struct RankUpdate {
    const float* a;
    Stride a_row, a_outer, a_inner;
    const float* m;
    Stride m_outer, m_inner;
    float* out;
    Stride out_row;
    std::size_t rows, columns, outer, inner;
    bool add = false;  // to what `out` holds
};

/// y[r][o] = bias[o] + Σ_i x[r][i] · w[o][i]: by lanes within chunks of kDotChunk, chunk after chunk.
struct Dot {
    const float* x;
    Stride x_row;
    const float* w;
    Stride w_row;
    const float* bias;
    float* y;
    Stride y_row;
    std::size_t rows, outputs, length;
};
inline constexpr std::size_t kDotChunk = 2048;

/// out[r][i] += Σ_n values[n] · m[at[n] + r·m_row + i], in the order of the list, for r < rows, i < columns.
struct SparseUpdate {
    float* out;
    Stride out_row;
    const float* m;
    Stride m_row;
    std::size_t rows, columns;
    const std::int32_t* at;
    const float* values;
    std::size_t count;
};

/// From two rows of a convolution's output, [2 · pixels][padded] each, the largest of each square of four, with bias, by channel scaled, and
/// cut off at 0 where `relu`: y [pixels][channels]. `which` says the one it was: 0 1 in the upper row, 2 3 in the lower one, the first of
/// equal ones, a NaN before all; kClosed where it was cut off.
struct PoolRows {
    const float *upper, *lower;
    const float* bias;
    const float* scale;  // [channels] or null
    float* y;
    std::uint8_t* which;
    std::size_t pixels, channels, padded;
    bool relu;
};
inline constexpr std::uint8_t kClosed = 4;

/// What is not 0 in one channel of a gradient behind such a pool: values[p·stride], of the square's place which[p·stride], appended in the order
/// of pixels. Returns how many there are; the lists have room for one more than all.
struct ListChannel {
    const float* values;
    const std::uint8_t* which;
    std::size_t stride, pixels;
    const std::int32_t* at_pixel;   // [pixels]
    const std::int32_t* at_square;  // [kClosed + 1], added to it
    std::int32_t add;               // likewise
    std::int32_t* at;
    float* listed;
};

/// The same for one pixel: its channels in four lists, by the square's place.
struct ListPixel {
    const float* values = nullptr;  // [channels]
    const std::uint8_t* which = nullptr;
    const std::int32_t* at_channel = nullptr;  // [channels], rounded up to whole vectors
    std::size_t channels = 0;
    std::int32_t* at[kClosed] = {};  // each with room for a vector more
    float* listed[kClosed] = {};
    std::size_t counts[kClosed] = {};  // written
};

/// x [pixels][padded] with bias, cut off at 0 where `relu`: y [pixels][channels].
struct FinishRow {
    const float* x;
    const float* bias;
    float* y;
    std::size_t pixels, channels, padded;
    bool relu;
};

/// The gradient of a line of a convolution, [pixels][channels], 0 where the output was cut off, `apart` floats from pixel to pixel; what it sums
/// to is added to `bias_sums`.
struct SpreadRow {
    const float* gradient;
    const float* y;  // null: nothing was cut off
    float* to;
    Stride apart;
    float* bias_sums;  // [channels]
    std::size_t pixels, channels;
};

/// Softmax cross-entropy of rows of scores: `scores` becomes its gradient, times `weight`. Returns the sum of the losses.
struct SoftmaxLoss {
    float* scores;  // [rows][classes]
    const std::int64_t* labels;
    std::size_t rows, classes;
    float weight;
};

struct Kernels {
    std::string_view name;
    void (*rank_update)(const RankUpdate&);
    void (*dot)(const Dot&);
    void (*sparse_update)(const SparseUpdate&);
    void (*pool_rows)(const PoolRows&);
    std::size_t (*list_channel)(const ListChannel&);
    void (*list_pixel)(ListPixel&);
    void (*finish_row)(const FinishRow&);
    void (*spread_row)(const SpreadRow&);
    double (*softmax_loss)(const SoftmaxLoss&);
    /// y[i] = max(x[i], 0), a NaN stays one; and back: out[i] = gradient[i] where y[i] is not 0. In place or not.
    void (*relu)(const float* x, float* y, std::size_t size);
    void (*relu_gradient)(const float* y, const float* gradient, float* out, std::size_t size);
    /// y[i] = tanh(x[i])
    void (*tanh)(const float* x, float* y, std::size_t size);
    /// Of `size` values, each by itself becomes 0 where the bits drawn for its number lie below `threshold`, else `scale` times itself.
    void (*drop)(const float* x, float* y, std::size_t size, std::uint64_t key, std::uint32_t first, std::uint32_t threshold,
                 float scale);
};

/// The fastest that this processor runs, or what the environment variable FEDHIVE_KERNELS names. Throws ConfigError where it names none.
const Kernels& kernels();

/// By name: avx512, avx2, plain; null where this processor or this build has none.
const Kernels* kernels_by_name(std::string_view name);

}  // namespace fedhive::clients::direct
