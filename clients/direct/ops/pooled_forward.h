// Forward pass of a convolution with its 2 × 2 max pool, in three forms with the same bits but for Winograd's.
#pragma once

#include "clients/direct/ops/convolution.h"

namespace fedhive::clients::direct {

/// Some images before and after the pool.
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

    /// Once per batch.
    virtual void begin(const Kernels&, const ForwardWeights&) {}
    virtual void run(const Kernels& kernels, const ForwardWeights& weights, const PooledImages& images) = 0;
};

/// Two lines of the convolution at a time, then the pool. SIMD lanes over output channels.
std::unique_ptr<PooledForward> pooled_by_lines(const ConvolutionTerms& terms);

/// SIMD lanes over pixels. Precondition: stride 1.
std::unique_ptr<PooledForward> pooled_by_pixels(const ConvolutionTerms& terms);

/// Whether lanes over pixels take at most 4/5 of the vectors that lanes over channels take; a fifth pays for bringing the image
/// into planes. False for another stride than 1.
bool fills_pixels(const ConvolutionTerms& terms);

/// Winograd; a tile's outputs are one window. Precondition: uses_winograd(terms).
std::unique_ptr<PooledForward> pooled_by_winograd(const ConvolutionTerms& terms);

}  // namespace fedhive::clients::direct
