// Forward pass of a convolution with its 2 × 2 max pool, in three forms. Two of them give the same bits; Winograd's differ.
#pragma once

#include "clients/direct/ops/convolution.h"

namespace fedhive::clients::direct {

/// Images at the convolution's input and at the pool's output.
struct PooledImages {
    const float* x = nullptr;  // [count][in]
    const float* bias = nullptr;
    const float* scale = nullptr;  // dropout's factors, [count][out channels]; null: none
    float* y = nullptr;            // [count][out]
    std::uint8_t* argmax = nullptr;
    std::size_t count = 0;

    const float* scale_of(std::size_t r, std::size_t channels) const {
        return scale == nullptr ? nullptr : scale + r * channels;
    }
};

class PooledForward {
public:
    PooledForward() = default;
    PooledForward(const PooledForward&) = delete;
    PooledForward& operator=(const PooledForward&) = delete;
    virtual ~PooledForward() = default;

    /// Called once per batch. weights: [out][in][kernel][kernel].
    virtual void begin(const Kernels&, [[maybe_unused]] const float* weights) {}
    virtual void run(const Kernels& kernels, const ForwardWeights& weights, const PooledImages& images) = 0;
};

/// Two lines of the convolution at a time, then the pool. SIMD lanes over output channels.
std::unique_ptr<PooledForward> pooled_by_lines(const ConvolutionTerms& terms);

/// SIMD lanes over pixels. Precondition: stride 1.
std::unique_ptr<PooledForward> pooled_by_pixels(const ConvolutionTerms& terms);

/// Whether SIMD lanes over pixels need at most 4/5 of the vectors that lanes over channels need. The fifth that they save is the price of
/// storing the image channel by channel. False for another stride than 1.
bool fills_pixels(const ConvolutionTerms& terms);

/// Winograd; the outputs of a tile are one window of the pool. Precondition: uses_winograd(terms).
std::unique_ptr<PooledForward> pooled_by_winograd(const ConvolutionTerms& terms);

}  // namespace fedhive::clients::direct
