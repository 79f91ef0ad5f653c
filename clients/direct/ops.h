// Types and helpers that the direct engine's operations share. Each operation is a file in ops/.
#pragma once

#include "clients/direct/op.h"

namespace fedhive::clients::direct {

/// SIMD lanes, the same number on every processor.
inline constexpr std::size_t kLaneCount = 16;

inline std::size_t to_lanes(std::size_t floats) { return (floats + kLaneCount - 1) / kLaneCount * kLaneCount; }
/// Columns rounded up to whole panels (Gemm::m_panel).
inline std::size_t to_panels(std::size_t columns) { return (columns + kPanel - 1) / kPanel * kPanel; }
inline Stride stride_of(std::size_t floats) { return static_cast<Stride>(floats); }

/// Offsets of a layer's tensors in the flat parameters.
struct TensorOffsets {
    static constexpr std::size_t kNone = ~std::size_t{0};  // the layer has no bias
    std::size_t weight = 0, bias = 0;
};

/// Dropout with probability p. `number` is the layer's among the network's dropout layers.
struct Drop {
    double p = 0.0;
    std::uint32_t number = 0;
};

/// y[i] = 0 with probability p, else x[i] / (1 - p). The draw depends on first + i, the value's index in the batch.
void drop_values(const Pass& pass, const float* x, float* y, std::size_t size, Drop drop, std::size_t first);

/// Height, width and channels of an image.
struct Image {
    std::size_t height = 1, width = 1, channels = 1;
    std::size_t pixels() const { return height * width; }
    std::size_t size() const { return pixels() * channels; }
};

/// Layer norm of the features of each position of a sequence.
std::unique_ptr<Op> make_position_norm(std::size_t positions, std::size_t features, TensorOffsets place);

/// Transposes each example's [rows][columns] to [columns][rows].
std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns);

}  // namespace fedhive::clients::direct
