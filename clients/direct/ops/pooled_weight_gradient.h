// Weight and bias gradient of a convolution before its 2 × 2 max pool, in two forms with the same bits.
#pragma once

#include "clients/direct/ops/convolution.h"

namespace fedhive::clients::direct {

class PooledWeightGradient {
public:
    explicit PooledWeightGradient(const ConvolutionTerms& terms) : bias_sums_(terms.channels) {}
    PooledWeightGradient(const PooledWeightGradient&) = delete;
    PooledWeightGradient& operator=(const PooledWeightGradient&) = delete;
    virtual ~PooledWeightGradient() = default;

    /// Allocates for groups of at most `images` images.
    virtual void reserve([[maybe_unused]] std::size_t images) {}

    /// Called once per batch: the sums become 0.
    virtual void begin();

    /// Adds image r of a group. x: the group's first image; gradient, argmax: of image r, [out pixels][out channels].
    virtual void take(const Kernels& kernels, const float* x, const float* gradient, const std::uint8_t* argmax,
                      std::size_t r) = 0;

    /// Called after a group's last image.
    virtual void end_group(const Kernels&, [[maybe_unused]] const float* x) {}

    /// Writes the weights' gradient, [out][in][kernel][kernel].
    virtual void write(float* weights) const = 0;
    const Floats& bias_sums() const { return bias_sums_; }

protected:
    Floats bias_sums_;  // [out]
};

/// Sums channel by channel over lists of the group's nonzero gradients. SIMD lanes over a kernel row's inputs.
std::unique_ptr<PooledWeightGradient> sparse_weight_gradient(const ConvolutionTerms& terms);

/// Sums image by image, with SIMD lanes over output channels, since a kernel row of a single-channel image has only `kernel` inputs.
/// Precondition: fits_single_channel(terms).
std::unique_ptr<PooledWeightGradient> single_channel_weight_gradient(const ConvolutionTerms& terms);
bool fits_single_channel(const ConvolutionTerms& terms);

}  // namespace fedhive::clients::direct
