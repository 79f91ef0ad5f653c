// The kernels of the direct engine as a table of functions, compiled three times from one source: AVX-512, AVX2 with FMA, plain
// C++. All three give the same bits: an output's terms are added in one order by fused multiply-adds, and a sum over lanes
// always reduces sixteen lanes by the same tree.
//
//   lanes    sixteen floats computed at once: one register, two, or a loop
//   columns  the dimension that is contiguous in memory and mapped to lanes
#pragma once

#include "clients/direct/sequence_terms.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fedhive::clients::direct {

using Stride = std::ptrdiff_t;  // in floats

/// out[r][i] (+)= Σ_k1 Σ_k2 a[r, k1, k2] · m[k1, k2, i], added in this order, for r < rows, i < columns, k1 < outer, k2 <
/// inner. That is C[M × N] (+)= A[M × K] · B[K × N] with M = rows, N = columns, K = outer · inner. The strides make it a matrix
/// product, a convolution, or the gradient of either.
struct Gemm {
    const float* a = nullptr;
    Stride a_row = 0, a_outer = 0, a_inner = 0;
    const float* m = nullptr;
    Stride m_outer = 0, m_inner = 0;
    Stride m_panel = 0;  // m in panels: from kPanel columns of m to the next; 0: all columns are contiguous. Not with `descend`
    float* out = nullptr;
    Stride out_row = 0;
    std::size_t rows = 0, columns = 0, outer = 0, inner = 0;
    bool add = false;  // accumulate onto `out`

    /// Several products of one shape, one after the other: from each a, m and out to the next. Not with `descend`.
    std::size_t products = 1;
    Stride a_next = 0, m_next = 0, out_next = 0;

    /// Fused SGD: the sum is the gradient g of parameters p, out = p - rate · (g + decay · p), as aggregation::element::sgd.
    bool descend = false;
    float rate = 0.0F, decay = 0.0F;
    const float* from = nullptr;  // p, laid out as `out`; null: `out` holds p
};

inline constexpr std::size_t kPanel = 32;  // columns of a panel of Gemm::m; a panel is [terms][kPanel]

/// to = from [rows][columns], or its transpose, in panels of kPanel columns. Columns of the last panel beyond the matrix are 0 or left as they
/// are.
struct Panels {
    const float* from = nullptr;
    std::size_t rows = 0, columns = 0;  // of `from`
    bool transposed = false;
    float* to = nullptr;  // [panels of columns][rows][kPanel]; transposed: [panels of rows][columns][kPanel]
};

/// y[r][o] = bias[o] + Σ_i x[r][i] · w[o][i], summed over lanes within chunks of kDotChunk, chunk after chunk.
struct Dot {
    const float* x = nullptr;
    Stride x_row = 0;
    const float* w = nullptr;
    Stride w_row = 0;
    const float* bias = nullptr;
    float* y = nullptr;
    Stride y_row = 0;
    std::size_t rows = 0, outputs = 0, length = 0;
};
inline constexpr std::size_t kDotChunk = 2048;

/// out[r][i] += Σ_n values[n] · m[at[n] + r·m_row + i], n < count ascending, for r < rows, i < columns.
struct SparseUpdate {
    float* out = nullptr;
    Stride out_row = 0;
    const float* m = nullptr;
    Stride m_row = 0;
    std::size_t rows = 0, columns = 0;
    const std::int32_t* at = nullptr;
    const float* values = nullptr;
    std::size_t count = 0;
};

/// y[p][c] = relu((max of the 2 × 2 window + bias[c]) · scale[c]), with the ReLU only where `relu`. The windows come from two
/// lines of a convolution's output, [2 · pixels][padded] each; y: [pixels][channels]. argmax[p][c] is the maximum's place in
/// the window: 0, 1 in the upper line, 2, 3 in the lower; the first of equal values, a NaN before all; kMasked where the ReLU
/// made the output 0.
struct Pool2x2 {
    const float *upper = nullptr, *lower = nullptr;
    const float* bias = nullptr;
    const float* scale = nullptr;  // [channels] or null
    float* y = nullptr;
    std::uint8_t* argmax = nullptr;
    std::size_t pixels = 0, channels = 0, padded = 0;
    bool relu = false;
};
inline constexpr std::uint8_t kMasked = 4;

/// Convolution, then Pool2x2, of an image stored channel by channel. SIMD lanes go over pixels, eight of a line and the eight
/// below, for convolutions whose channels would fill fewer lanes. Terms in the order of `at`.
struct ConvolvePool2x2 {
    const float* x = nullptr;  // readable for kPixelsAtOnce floats before and after the image, with any values
    Stride x_line = 0;
    const std::int32_t* at = nullptr;  // [taps]: offset from a pixel to the tap's input
    const float* weights = nullptr;    // [taps][padded]
    std::size_t taps = 0;
    const float *bias = nullptr, *scale = nullptr;
    float* y = nullptr;              // [lines][pixels][channels]
    std::uint8_t* argmax = nullptr;  // likewise
    std::size_t lines = 0, pixels = 0, channels = 0, padded = 0;
    bool relu = false;
};
inline constexpr std::size_t kPixelsAtOnce = 8;

/// Appends the nonzeros of one channel of a pooled output's gradient, in the order of pixels: listed[n] = values[p·stride] and
/// at[n] = at_pixel[p] + at_window[argmax[p·stride]] + add. Masked values (kMasked of Pool2x2) are left out. Returns the number of
/// nonzeros; `at` and `listed` need room for pixels + 1.
struct SparseChannelGradient {
    const float* values = nullptr;
    const std::uint8_t* argmax = nullptr;
    std::size_t stride = 0, pixels = 0;
    const std::int32_t* at_pixel = nullptr;   // [pixels]
    const std::int32_t* at_window = nullptr;  // [kMasked + 1]
    std::int32_t add = 0;
    std::int32_t* at = nullptr;
    float* listed = nullptr;
};

/// Writes the nonzeros of one pixel of a pooled output's gradient to four lists, one for each place in the window. Masked values are left
/// out.
struct SparsePixelGradient {
    const float* values = nullptr;  // [channels]
    const std::uint8_t* argmax = nullptr;
    const std::int32_t* at_channel = nullptr;  // [channels], rounded up to whole vectors
    std::size_t channels = 0;
    std::int32_t* at[kMasked] = {};  // each with room for one more vector
    float* listed[kMasked] = {};
    std::size_t counts[kMasked] = {};  // output
};

/// Weight and bias gradient of a convolution of a single-channel image before a 2 × 2 pool: sums[k1][k2][c] += Σ_i Σ_p
/// values[i, p, c] · x[2i + k1 + argmax / 2, 2p + k2 + argmax % 2] and bias_sums[c] += Σ_i Σ_p values[i, p, c], in this order,
/// without zeros and masked values.
struct SingleChannelGradient {
    const float* x = nullptr;
    Stride x_line = 0;
    const float* values = nullptr;         // [lines][pixels][channels]
    const std::uint8_t* argmax = nullptr;  // likewise
    std::size_t lines = 0, pixels = 0, channels = 0, padded = 0;
    std::size_t kernel = 0;      // 1 to kMostSingleChannelTaps
    float* sums = nullptr;       // [kernel][kernel][padded]
    float* bias_sums = nullptr;  // [channels]
};
inline constexpr std::size_t kMostSingleChannelTaps = 5;

/// y[p][c] = relu(x[p][c] + bias[c]), with the ReLU only where `relu`; x: [pixels][padded], y: [pixels][channels].
struct BiasRelu {
    const float* x = nullptr;
    const float* bias = nullptr;
    float* y = nullptr;
    std::size_t pixels = 0, channels = 0, padded = 0;
    bool relu = false;
};

/// Winograd 3 × 3 convolution (kernels/winograd.h): a tile of 4 × 4 pixels gives 2 × 2 outputs, tiles are two pixels apart. Per
/// pair of channels it takes 16 products, one for each place in the tile, instead of 36. Channel counts are multiples of
/// sixteen.
inline constexpr std::size_t kWinogradPlaces = 16;

/// Transforms one line of tiles of an image: to[place][tile][channel]. Pixels outside the image are 0. winograd_inputs reads
/// tiles of 4 × 4 pixels; winograd_gradients reads 2 × 2 output gradients, for the weight gradient.
struct WinogradInputs {
    const float* x = nullptr;  // [lines][pixels][channels]
    std::size_t lines = 0, pixels = 0, channels = 0;
    Stride first_line = 0, first_pixel = 0;  // first pixel of the first tile; may be outside the image
    float* to = nullptr;
    Stride to_place = 0;
    std::size_t tiles = 0;
};

/// winograd_weights: to[place][row][lane] = the transform of the 9 taps from[tap][row][lane] of a kernel. winograd_weight_gradient, the adjoint:
/// to[tap][row][lane] from the sums from[place][row][lane]. Lanes are kLanes contiguous channels.
struct WinogradWeights {
    const float* from = nullptr;
    Stride from_plane = 0, from_row = 0;  // a plane is a tap or a place
    float* to = nullptr;
    Stride to_plane = 0, to_row = 0;
    std::size_t rows = 0;
};

/// y = relu(output transform of one line of tiles + bias), with the ReLU only where `relu`: `lines` lines of `pixels`, at most
/// two of them written. With odd `pixels` the last tile gives one column.
struct WinogradOutputs {
    const float* sums = nullptr;  // [place][tile][channel]
    Stride sums_place = 0;
    const float* bias = nullptr;  // [channels] or null
    float* y = nullptr;
    Stride y_line = 0;
    std::size_t lines = 0, pixels = 0, channels = 0;
    bool relu = false;
};

/// Output transform of one line of tiles, then Pool2x2: a tile's 2 × 2 outputs are one window.
struct WinogradPool2x2 {
    const float* sums = nullptr;  // as WinogradOutputs has them
    Stride sums_place = 0;
    const float* bias = nullptr;
    const float* scale = nullptr;  // [channels] or null
    float* y = nullptr;            // [pixels][channels]
    std::uint8_t* argmax = nullptr;
    std::size_t pixels = 0, channels = 0;
    bool relu = false;
};

/// to[p][c] = gradient[p][c], or 0 where y[p][c] <= 0; bias_sums[c] += Σ_p to[p][c]. All but bias_sums: [pixels][channels].
struct BiasReluBackward {
    const float* gradient = nullptr;
    const float* y = nullptr;    // null: no ReLU
    float* to = nullptr;         // null: not written
    float* bias_sums = nullptr;  // [channels]
    std::size_t pixels = 0, channels = 0;
};

/// sums[c] = Σ_p x[p][c], or with a mean Σ_p (x[p][c] − mean[c])². Float sums over chunks of kNormChunk pixels, added up in
/// double.
struct ChannelSums {
    const float* x = nullptr;     // [pixels][channels]
    const float* mean = nullptr;  // [channels] or null
    std::size_t pixels = 0, channels = 0;
    double* sums = nullptr;  // [channels]
};
inline constexpr std::size_t kNormChunk = 64;

/// y[p][c] = relu((x[p][c] − mean[c]) · scale[c] + shift[c]), with the ReLU only where `relu`.
struct NormRows {
    const float* x = nullptr;                                         // [pixels][channels]
    const float *mean = nullptr, *scale = nullptr, *shift = nullptr;  // [channels]
    float* y = nullptr;                                               // [pixels][channels]
    std::size_t pixels = 0, channels = 0;
    bool relu = false;
};

/// sums[c] = Σ_p g[p][c], along[c] = Σ_p g[p][c] · (x[p][c] − mean[c]), with g the gradient of y, masked by the ReLU; summed as
/// in ChannelSums.
struct NormSums {
    const float *x = nullptr, *gradient = nullptr;  // [pixels][channels]
    const float* y = nullptr;                       // null: no ReLU
    const float* mean = nullptr;                    // [channels]
    std::size_t pixels = 0, channels = 0;
    double *sums = nullptr, *along = nullptr;  // [channels]
};

/// x_gradient[p][c] = g[p][c] · of_gradient[c] + ((x[p][c] − mean[c]) · of_value[c] + constant[c]), with g as in NormSums.
struct NormBack {
    const float *x = nullptr, *gradient = nullptr, *y = nullptr;
    const float *mean = nullptr, *of_gradient = nullptr, *of_value = nullptr, *constant = nullptr;  // [channels]
    float* x_gradient = nullptr;
    std::size_t pixels = 0, channels = 0;
};

/// y[p][c] = relu(bias[c] + Σ_k1 Σ_k2 x[k1, p + k2, c] · weights[k1, k2, c]), added in this order, for p < pixels, k1 < lines, k2 <
/// taps: one line of a depth-wise convolution, or of its input gradient.
struct Depthwise {
    const float* x = nullptr;
    Stride x_line = 0, x_pixel = 0, x_tap = 0;  // of k1, p and k2
    const float* weights = nullptr;
    Stride w_line = 0, w_tap = 0;
    const float* bias = nullptr;  // [channels] or null
    float* y = nullptr;
    Stride y_pixel = 0;
    std::size_t pixels = 0, channels = 0, lines = 0, taps = 0;
    bool relu = false;
};

/// sums[k1][k2][c] += Σ_p gradient[p][c] · x[k1 · x_line + p · x_pixel + k2 · channels + c], for k1, k2 < kernel.
struct DepthwiseWeights {
    const float* x = nullptr;
    Stride x_line = 0, x_pixel = 0;
    const float* gradient = nullptr;  // [pixels][channels]
    float* sums = nullptr;            // [kernel][kernel][channels]
    std::size_t pixels = 0, channels = 0, kernel = 0;
};

/// Returns Σ_r −ln softmax(scores[r])[labels[r]]; scores[r] becomes weight · (softmax(scores[r]) − one_hot(labels[r])), the
/// gradient.
struct SoftmaxLoss {
    float* scores = nullptr;  // [rows][classes]
    const std::int64_t* labels = nullptr;
    std::size_t rows = 0, classes = 0;
    float weight = 0.0F;
};

struct Kernels {
    std::string_view name;
    void (*gemm)(const Gemm&);
    void (*write_panels)(const Panels&);
    void (*dot)(const Dot&);
    void (*sparse_update)(const SparseUpdate&);
    void (*pool2x2)(const Pool2x2&);
    void (*convolve_pool2x2)(const ConvolvePool2x2&);
    std::size_t (*sparse_channel_gradient)(const SparseChannelGradient&);
    void (*sparse_pixel_gradient)(SparsePixelGradient&);
    void (*single_channel_gradient)(const SingleChannelGradient&);
    bool
        prefers_pixel_lanes;  // with this instruction set, convolve_pool2x2 and single_channel_gradient are faster than general kernels
    void (*bias_relu)(const BiasRelu&);
    void (*depthwise)(const Depthwise&);
    void (*depthwise_weights)(const DepthwiseWeights&);
    void (*winograd_inputs)(const WinogradInputs&);
    void (*winograd_gradients)(const WinogradInputs&);
    void (*winograd_outputs)(const WinogradOutputs&);
    void (*winograd_pool2x2)(const WinogradPool2x2&);
    void (*winograd_weights)(const WinogradWeights&);
    void (*winograd_weight_gradient)(const WinogradWeights&);
    void (*bias_relu_backward)(const BiasReluBackward&);
    void (*channel_sums)(const ChannelSums&);
    void (*norm_rows)(const NormRows&);
    void (*norm_sums)(const NormSums&);
    void (*norm_back)(const NormBack&);
    void (*row_norm)(const RowNorm&);
    void (*row_norm_back)(const RowNormBack&);
    void (*softmax)(const Softmax&);
    void (*softmax_gradient)(const SoftmaxGradient&);
    void (*lstm_cell)(const LstmCell&);
    void (*lstm_cell_back)(const LstmCellBack&);
    void (*gru_cell)(const GruCell&);
    void (*gru_cell_back)(const GruCellBack&);
    double (*softmax_loss)(const SoftmaxLoss&);
    /// y[i] = relu(a[i] + b[i]), with the ReLU only where `relu`. y may be a or b.
    void (*add)(const float* a, const float* b, float* y, std::size_t size, bool relu);
    /// y[i] = max(x[i], 0), a NaN stays NaN; backward: out[i] = gradient[i], or 0 where y[i] <= 0. In place or not.
    void (*relu)(const float* x, float* y, std::size_t size);
    void (*relu_gradient)(const float* y, const float* gradient, float* out, std::size_t size);
    /// y[i] = tanh(x[i])
    void (*tanh)(const float* x, float* y, std::size_t size);
    /// y[i] = x[i] · Φ(x[i]); gradient: out[i] = gradient[i] · (Φ(x[i]) + x[i] · φ(x[i])). In place or not.
    void (*gelu)(const float* x, float* y, std::size_t size);
    void (*gelu_gradient)(const float* x, const float* gradient, float* out, std::size_t size);
    /// y[i] = 0 if hash(key, first + i) < threshold, else scale · x[i]; the hash has 32 bits.
    void (*dropout)(const float* x, float* y, std::size_t size, std::uint64_t key, std::uint32_t first, std::uint32_t threshold,
                    float scale);
};

/// The fastest kernels that this processor runs, or those named by the environment variable FEDHIVE_KERNELS. Throws ConfigError
/// if that name is unknown here.
const Kernels& kernels();

/// The kernels called avx512, avx2 or plain; null if this processor or this build has none of that name.
const Kernels* kernels_by_name(std::string_view name);

/// The text that a run's plan prints after the kernels' name: for plain kernels, their speed relative to AVX2; for others, none.
std::string remark_on(std::string_view name);
/// The remark on plain kernels on an x86 processor with or without AVX2 and FMA.
std::string remark_on_plain(bool has_avx2, bool has_fma);

}  // namespace fedhive::clients::direct
