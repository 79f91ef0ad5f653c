// The arithmetic that the direct engine is made of, as a table of functions: once for AVX-512, once for AVX2 with FMA, once in plain C++, from
// the same source. All three give the same bits: an output's terms are added in one order, by fused multiply-adds, and a sum over lanes has
// sixteen of them and one shape everywhere.
//
//   lanes    sixteen floats that are computed at once: one register, two, or a loop
//   columns  what lies side by side in memory and goes through the lanes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fedhive::clients::direct {

using Stride = std::ptrdiff_t;  // in floats

/// out[r][i] = Σ_k1 Σ_k2 a[r, k1, k2] · m[k1, k2, i], in this order, for r < rows, i < columns. A matrix product, a convolution, the gradient of
/// either: it depends on the strides.
struct Gemm {
    const float* a = nullptr;
    Stride a_row = 0, a_outer = 0, a_inner = 0;
    const float* m = nullptr;
    Stride m_outer = 0, m_inner = 0;
    float* out = nullptr;
    Stride out_row = 0;
    std::size_t rows = 0, columns = 0, outer = 0, inner = 0;
    bool add = false;  // to what `out` holds

    /// `out` holds parameters, and what is summed is their gradient g: out = p - rate · (g + decay · p), as aggregation::element::sgd has it.
    bool descend = false;
    float rate = 0.0F, decay = 0.0F;
    const float* from = nullptr;  // where the parameters lie before, as `out` does; null: there
};

/// y[r][o] = bias[o] + Σ_i x[r][i] · w[o][i]: by lanes within chunks of kDotChunk, chunk after chunk.
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

/// out[r][i] += Σ_n values[n] · m[at[n] + r·m_row + i], in the order of the list, for r < rows, i < columns.
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

/// From two rows of a convolution's output, [2 · pixels][padded] each, the largest of each square of four, with bias, by channel scaled, and
/// cut off at 0 where `relu`: y [pixels][channels]. `which` says the one it was: 0 1 in the upper row, 2 3 in the lower one, the first of
/// equal ones, a NaN before all; kMasked where it was cut off.
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

/// A convolution of an image that lies plane by plane, with such a pool behind it, as Pool2x2 has it: lanes over pixels, eight of a line and
/// the eight below them, where channels would fill fewer. Terms in the order of `at`.
struct ConvolvePool2x2 {
    const float* x = nullptr;  // kPixelsAtOnce floats before the image and behind it must be there, whatever they hold
    Stride x_line = 0;
    const std::int32_t* at = nullptr;  // [taps]: what each tap sees, from a pixel on
    const float* weights = nullptr;    // [taps][padded]
    std::size_t taps = 0;
    const float *bias = nullptr, *scale = nullptr;
    float* y = nullptr;              // [lines][pixels][channels]
    std::uint8_t* argmax = nullptr;  // likewise
    std::size_t lines = 0, pixels = 0, channels = 0, padded = 0;
    bool relu = false;
};
inline constexpr std::size_t kPixelsAtOnce = 8;

/// What is not 0 in one channel of a gradient behind such a pool: values[p·stride], of the square's place which[p·stride], appended in the order
/// of pixels. Returns how many there are; the lists have room for one more than all.
struct SparseChannelGradient {
    const float* values = nullptr;
    const std::uint8_t* argmax = nullptr;
    std::size_t stride = 0, pixels = 0;
    const std::int32_t* at_pixel = nullptr;   // [pixels]
    const std::int32_t* at_window = nullptr;  // [kMasked + 1], added to it
    std::int32_t add = 0;                     // likewise
    std::int32_t* at = nullptr;
    float* listed = nullptr;
};

/// The same for one pixel: its channels in four lists, by the square's place.
struct SparsePixelGradient {
    const float* values = nullptr;  // [channels]
    const std::uint8_t* argmax = nullptr;
    const std::int32_t* at_channel = nullptr;  // [channels], rounded up to whole vectors
    std::size_t channels = 0;
    std::int32_t* at[kMasked] = {};  // each with room for a vector more
    float* listed[kMasked] = {};
    std::size_t counts[kMasked] = {};  // written
};

/// What a kernel's taps saw of a grey image, times the gradient behind such a pool: sums[k1][k2][c] += Σ_i Σ_p values[i, p, c] · x[2i + k1, 2p + k2]
/// of the square's first pixel or which other one it was, and bias_sums[c] += Σ_i Σ_p values[i, p, c]; in this order, without what is 0 or was cut
/// off.
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

/// x [pixels][padded] with bias, cut off at 0 where `relu`: y [pixels][channels].
struct BiasRelu {
    const float* x = nullptr;
    const float* bias = nullptr;
    float* y = nullptr;
    std::size_t pixels = 0, channels = 0, padded = 0;
    bool relu = false;
};

/// A 3 x 3 convolution by tiles (kernels/tiles.h): of 4 x 4 pixels each, two apart, of which 2 x 2 outputs follow, by a product for each of 16
/// places in a tile and each pair of channels, where 36 would be made without. Channels are whole vectors of sixteen.
inline constexpr std::size_t kWinogradPlaces = 16;

/// A line of tiles of an image, place by place: to[place][tile][channel]. Pixels that the image has not are 0. Of a gradient whose convolution's
/// weights are asked for, a tile is what its 2 x 2 outputs got.
struct WinogradInputs {
    const float* x = nullptr;  // [lines][pixels][channels]
    std::size_t lines = 0, pixels = 0, channels = 0;
    Stride first_line = 0, first_pixel = 0;  // where the first tile begins, perhaps outside
    float* to = nullptr;
    Stride to_place = 0;
    std::size_t tiles = 0;
};

/// The outputs of a line of tiles, with bias, cut off at 0 where `relu`: one or two lines of `pixels`, of which an odd number takes half of the
/// last tile.
struct WinogradOutputs {
    const float* sums = nullptr;  // [place][tile][channel]
    Stride sums_place = 0;
    const float* bias = nullptr;  // [channels] or null
    float* y = nullptr;
    Stride y_line = 0;
    std::size_t lines = 0, pixels = 0, channels = 0;
    bool relu = false;
};

/// Such a line with a pool behind it, as Pool2x2 has it: a tile's outputs are a square.
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

/// The gradient of a line of a convolution, [pixels][channels], 0 where the output was cut off; what it sums to is added to `bias_sums`.
struct BiasReluBackward {
    const float* gradient = nullptr;
    const float* y = nullptr;    // null: nothing was cut off
    float* to = nullptr;         // null: nobody asks for it
    float* bias_sums = nullptr;  // [channels]
    std::size_t pixels = 0, channels = 0;
};

/// sums[c] = Σ_p x[p][c], or where there is a mean Σ_p (x[p][c] − mean[c])²: in float by chunks of kNormChunk pixels, these in double.
struct ChannelSums {
    const float* x = nullptr;     // [pixels][channels]
    const float* mean = nullptr;  // [channels] or null
    std::size_t pixels = 0, channels = 0;
    double* sums = nullptr;  // [channels]
};
inline constexpr std::size_t kNormChunk = 64;

/// y = (x − mean) · scale + shift, by channel, cut off at 0 where `relu`.
struct NormRows {
    const float* x = nullptr;                                         // [pixels][channels]
    const float *mean = nullptr, *scale = nullptr, *shift = nullptr;  // [channels]
    float* y = nullptr;                                               // [pixels][channels]
    std::size_t pixels = 0, channels = 0;
    bool relu = false;
};

/// sums[c] = Σ_p g[p][c], along[c] = Σ_p g[p][c] · (x[p][c] − mean[c]), with g the gradient of y, 0 where y was cut off; summed as ChannelSums.
struct NormSums {
    const float *x = nullptr, *gradient = nullptr;  // [pixels][channels]
    const float* y = nullptr;                       // null: nothing was cut off
    const float* mean = nullptr;                    // [channels]
    std::size_t pixels = 0, channels = 0;
    double *sums = nullptr, *along = nullptr;  // [channels]
};

/// x_gradient = g · of_gradient + ((x − mean) · of_value + constant), by channel, with the same g.
struct NormBack {
    const float *x = nullptr, *gradient = nullptr, *y = nullptr;
    const float *mean = nullptr, *of_gradient = nullptr, *of_value = nullptr, *constant = nullptr;  // [channels]
    float* x_gradient = nullptr;
    std::size_t pixels = 0, channels = 0;
};

/// Softmax cross-entropy of rows of scores: `scores` becomes its gradient, times `weight`. Returns the sum of the losses.
struct SoftmaxLoss {
    float* scores = nullptr;  // [rows][classes]
    const std::int64_t* labels = nullptr;
    std::size_t rows = 0, classes = 0;
    float weight = 0.0F;
};

struct Kernels {
    std::string_view name;
    void (*gemm)(const Gemm&);
    void (*dot)(const Dot&);
    void (*sparse_update)(const SparseUpdate&);
    void (*pool2x2)(const Pool2x2&);
    void (*convolve_pool2x2)(const ConvolvePool2x2&);
    std::size_t (*sparse_channel_gradient)(const SparseChannelGradient&);
    void (*sparse_pixel_gradient)(SparsePixelGradient&);
    void (*single_channel_gradient)(const SingleChannelGradient&);
    bool prefers_pixel_lanes;  // convolve_pool2x2 and single_channel_gradient take less time than what else there is
    void (*bias_relu)(const BiasRelu&);
    void (*winograd_inputs)(const WinogradInputs&);
    void (*winograd_gradients)(const WinogradInputs&);
    void (*winograd_outputs)(const WinogradOutputs&);
    void (*winograd_pool2x2)(const WinogradPool2x2&);
    /// [3][3][size] of a kernel to [kWinogradPlaces][size] of its tiles; and the gradient of the latter to that of the former.
    void (*winograd_weights)(const float* weights, float* to, std::size_t size);
    void (*winograd_weight_gradient)(const float* sums, float* to, std::size_t size);
    void (*bias_relu_backward)(const BiasReluBackward&);
    void (*channel_sums)(const ChannelSums&);
    void (*norm_rows)(const NormRows&);
    void (*norm_sums)(const NormSums&);
    void (*norm_back)(const NormBack&);
    double (*softmax_loss)(const SoftmaxLoss&);
    /// y[i] = a[i] + b[i], cut off at 0 where `relu`. In place or not.
    void (*add)(const float* a, const float* b, float* y, std::size_t size, bool relu);
    /// y[i] = max(x[i], 0), a NaN stays one; and back: out[i] = gradient[i] where y[i] is not 0. In place or not.
    void (*relu)(const float* x, float* y, std::size_t size);
    void (*relu_gradient)(const float* y, const float* gradient, float* out, std::size_t size);
    /// y[i] = tanh(x[i])
    void (*tanh)(const float* x, float* y, std::size_t size);
    /// Of `size` values, each by itself becomes 0 where the bits drawn for its number lie below `threshold`, else `scale` times itself.
    void (*dropout)(const float* x, float* y, std::size_t size, std::uint64_t key, std::uint32_t first, std::uint32_t threshold,
                    float scale);
};

/// The fastest that this processor runs, or what the environment variable FEDHIVE_KERNELS names. Throws ConfigError where it names none.
const Kernels& kernels();

/// By name: avx512, avx2, plain; null where this processor or this build has none.
const Kernels* kernels_by_name(std::string_view name);

/// What a plan says behind the name of kernels: of plain ones, at what share of AVX2's speed they run here; of others nothing.
std::string remark_on(std::string_view name);
/// Of plain ones, on an x86 processor with AVX2 and fused multiply-adds or without.
std::string remark_on_plain(bool has_avx2, bool has_fma);

}  // namespace fedhive::clients::direct
