// All operations; one file each.
#pragma once

#include "clients/direct/op.h"

namespace fedhive::clients::direct {

/// SIMD lanes, the same number on every processor.
inline constexpr std::size_t kLaneCount = 16;

inline std::size_t to_lanes(std::size_t floats) { return (floats + kLaneCount - 1) / kLaneCount * kLaneCount; }
inline Stride stride_of(std::size_t floats) { return static_cast<Stride>(floats); }

/// Offsets of a layer's tensors in the flat parameters.
struct Place {
    static constexpr std::size_t kNone = ~std::size_t{0};  // the layer has no bias
    std::size_t weight = 0, bias = 0;
};

/// Dropout with probability p. `number` tells the dropout layers of a network apart.
struct Drop {
    double p = 0.0;
    std::uint32_t number = 0;
};

/// y[i] = 0 with probability p, else x[i] / (1 - p); drawn by the index first + i of the value in the batch.
void drop_values(const Pass& pass, const float* x, float* y, std::size_t size, Drop drop, std::size_t first);

/// Height, width and channels of an image.
struct Image {
    std::size_t height = 1, width = 1, channels = 1;
    std::size_t pixels() const { return height * width; }
    std::size_t size() const { return pixels() * channels; }
};

/// A convolution with a square kernel, and the layers fused with it.
struct ConvolutionTerms {
    Image in;
    std::size_t channels = 1, kernel = 1, stride = 1, padding = 0;  // padding below kernel
    bool relu = false;
    bool pool = false;  // 2 × 2 max pool
    Drop drop{};        // of whole channels; only with `pool`
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

/// Whether the convolution is computed by Winograd F(2 × 2, 3 × 3); before a pool only its forward pass. Bits depend on it, so
/// the shape alone decides.
bool uses_winograd(const ConvolutionTerms& terms);
/// Precondition: uses_winograd(terms) and no pool.
std::unique_ptr<Op> make_winograd_convolution(const ConvolutionTerms& terms);

std::unique_ptr<Op> make_linear(std::size_t inputs, std::size_t outputs, bool relu, Place place);
/// Token ids, whole numbers below `tokens`, to [positions][dim]. Only as the first operation of a network.
std::unique_ptr<Op> make_embedding(std::size_t positions, std::size_t tokens, std::size_t dim, Place place);
std::unique_ptr<Op> make_relu(std::size_t size);
std::unique_ptr<Op> make_tanh(std::size_t size);

std::unique_ptr<Op> make_dropout(std::size_t size, Drop drop);
std::unique_ptr<Op> make_channel_dropout(const Image& in, Drop drop);

std::unique_ptr<Op> make_max_pool(const Image& in, std::size_t size);
std::unique_ptr<Op> make_average_pool(const Image& in, std::size_t size);

/// Group norm over `groups` of an image's channels, then a ReLU where `relu`. Layer norm over all features, each with its scale
/// and shift.
std::unique_ptr<Op> make_group_norm(const Image& in, std::size_t groups, bool relu, Place place);
std::unique_ptr<Op> make_layer_norm(std::size_t size, Place place);

/// y = chain(x) + shortcut(x), then a ReLU where `relu`. An empty chain or shortcut is the identity.
std::unique_ptr<Op> make_residual(std::size_t inputs, std::size_t outputs, Chain chain, Chain shortcut, bool relu);

/// [rows][columns] of an example to [columns][rows].
std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns);

}  // namespace fedhive::clients::direct
