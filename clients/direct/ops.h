// The operations that there are; each is one file.
#pragma once

#include "clients/direct/op.h"

namespace fedhive::clients::direct {

/// Floats of a vector, on every processor.
inline constexpr std::size_t kLaneCount = 16;

inline std::size_t to_lanes(std::size_t floats) { return (floats + kLaneCount - 1) / kLaneCount * kLaneCount; }
inline Stride stride_of(std::size_t floats) { return static_cast<Stride>(floats); }

/// Where a layer's tensors lie in the flat parameters.
struct Place {
    static constexpr std::size_t kNone = ~std::size_t{0};  // a bias that there is not
    std::size_t weight = 0, bias = 0;
};

/// Dropout: of what share, and a number that tells those of one network apart.
struct Drop {
    double p = 0.0;
    std::uint32_t number = 0;
};

/// Of the values with numbers [first, first + size) in the batch some become 0, the others grow by 1 / (1 - p).
void drop_values(const Pass& pass, const float* x, float* y, std::size_t size, Drop drop, std::size_t first);

/// Height, width and channels of an image.
struct Image {
    std::size_t height = 1, width = 1, channels = 1;
    std::size_t pixels() const { return height * width; }
    std::size_t size() const { return pixels() * channels; }
};

/// A convolution of square kernel, and what was found behind it.
struct ConvolutionTerms {
    Image in;
    std::size_t channels = 1, kernel = 1, stride = 1, padding = 0;  // padding below kernel
    bool relu = false;
    bool pool = false;  // the largest of each 2 x 2
    Drop drop{};        // of whole channels, where it pools
    Place place{};

    Image convolved() const {
        return {(in.height + 2 * padding - kernel) / stride + 1, (in.width + 2 * padding - kernel) / stride + 1, channels};
    }
    Image out() const {
        const Image all = convolved();
        return pool ? Image{all.height / 2, all.width / 2, channels} : all;
    }
};
std::unique_ptr<Op> make_convolution(const ConvolutionTerms& terms);

/// Whether it goes by tiles of 2 x 2 outputs: by its shape alone, since bits depend on it. Before a pool forward alone.
bool uses_winograd(const ConvolutionTerms& terms);
/// One without a pool.
std::unique_ptr<Op> make_winograd_convolution(const ConvolutionTerms& terms);

std::unique_ptr<Op> make_linear(std::size_t inputs, std::size_t outputs, bool relu, Place place);
/// Tokens, whole numbers below `tokens`, to [positions][dim]; the first operation of a network.
std::unique_ptr<Op> make_embedding(std::size_t positions, std::size_t tokens, std::size_t dim, Place place);
std::unique_ptr<Op> make_relu(std::size_t size);
std::unique_ptr<Op> make_tanh(std::size_t size);

std::unique_ptr<Op> make_dropout(std::size_t size, Drop drop);
std::unique_ptr<Op> make_channel_dropout(const Image& in, Drop drop);

std::unique_ptr<Op> make_max_pool(const Image& in, std::size_t size);
std::unique_ptr<Op> make_average_pool(const Image& in, std::size_t size);

/// Over `groups` of channels of an image, cut off at 0 where `relu`; over all features in a row, with a scale and a shift for each.
std::unique_ptr<Op> make_group_norm(const Image& in, std::size_t groups, bool relu, Place place);
std::unique_ptr<Op> make_layer_norm(std::size_t size, Place place);

/// What the chain makes of x, and what the shortcut makes of it; an empty one x itself. Their sum is cut off at 0 where `relu`.
std::unique_ptr<Op> make_residual(std::size_t inputs, std::size_t outputs, Chain chain, Chain shortcut, bool relu);

/// [rows][columns] of an example to [columns][rows].
std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns);

}  // namespace fedhive::clients::direct
