// The gradient that a 2 × 2 max pool passes back to a convolution, as lists of its nonzeros, which are at most a quarter of all values.
#pragma once

#include "clients/direct/ops/convolution.h"

#include <algorithm>
#include <array>
#include <vector>

namespace fedhive::clients::direct {

/// Lists of nonzeros, each with the same capacity `room`: counts[l] offsets at_of(l) and values values_of(l).
struct SparseGradient {
    std::size_t room = 0;
    std::vector<std::int32_t> at;
    Floats values;
    std::vector<std::size_t> counts;

    void reserve(std::size_t lists, std::size_t most) {
        room = most + kLaneCount;
        at.resize(lists * room);
        values.resize(lists * room);
        counts.assign(lists, 0);
    }
    void clear() { std::fill(counts.begin(), counts.end(), 0); }
    std::int32_t* at_of(std::size_t list) { return at.data() + list * room; }
    float* values_of(std::size_t list) { return values.data() + list * room; }
};

/// The offset in the padded image of the input under the kernel's first tap is the sum of two: one for the window of a pooled pixel, one
/// for the place in the window.
struct WindowOffsets {
    explicit WindowOffsets(const ConvolutionTerms& terms);

    std::vector<std::int32_t> of_pixel;
    std::array<std::int32_t, kMasked + 1> in_window{};
};

/// The input gradient of a pooled convolution, from its nonzeros pixel by pixel.
class SparseInputGradient {
public:
    explicit SparseInputGradient(const ConvolutionTerms& terms);

    /// Called once per batch: stores the weights, [out][in][kernel][kernel] in PyTorch's order.
    void take_weights(const float* weights);

    /// Writes an image's x_gradient. gradient, argmax: [out pixels][out channels].
    void run(const Kernels& kernels, const float* gradient, const std::uint8_t* argmax, float* x_gradient);

private:
    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    WindowOffsets offsets_;
    Floats weights_;                        // [out][kernel][kernel][in]
    Floats padded_gradient_;                // of the padded input; empty without padding
    SparseGradient of_window_;              // a pixel's nonzeros, one list per place in the window
    std::vector<std::int32_t> at_channel_;  // offset of an output's weights
};

}  // namespace fedhive::clients::direct
