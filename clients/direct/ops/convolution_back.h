// Backward pass of a convolution with a dense output gradient, that is without a fused 2 × 2 pool.
#pragma once

#include "clients/direct/ops/convolution.h"

namespace fedhive::clients::direct {

/// Computes the weight gradient and the input gradient of one example at a time, from its output gradient. That is first masked by the ReLU
/// and zero-padded.
///
///   weights   dw[k1][k2] = Σ over output lines i and pixels j of gradient[i][j] · x[stride · i + k1][stride · j + k2]
///   input     stride 1: convolution of the gradient with the flipped kernel. Otherwise one such convolution per phase (stride²
///             of them): the pixels of a phase are `stride` apart and use the same taps, so no product with a stuffed zero is
///             computed
class ConvolutionBack {
public:
    explicit ConvolutionBack(const ConvolutionTerms& terms);

    /// Called once per batch: stores the flipped kernel. weights: [out][in][kernel][kernel], PyTorch's order.
    void flip_weights(const float* weights);

    /// Sets the current example: its output y and output gradient, [pixels][out]. Adds the bias gradient to `bias_sums`, [out].
    void take(const Kernels& kernels, const float* y, const float* gradient, float* bias_sums);

    /// Adds the example's weight gradient to `sums`, stored by place_of_sum(); x: the padded image.
    void add_weight_gradient(const Kernels& kernels, const float* x, float* sums) const;

    /// Index in `sums` of a weight's gradient, by tap, input channel and output channel.
    std::size_t place_of_sum(std::size_t tap, std::size_t in, std::size_t out) const {
        const std::size_t at = tap * t_.in.channels + in;
        return by_outputs_ ? at * t_.channels + out : out * t_.kernel * t_.kernel * t_.in.channels + at;
    }

    /// Writes the example's x_gradient, [pixels][in].
    void input_gradient(const Kernels& kernels, float* x_gradient) const;

private:
    /// Along one axis, the taps of the flipped kernel that meet an output gradient at an input pixel: `taps` of them, every stride-th from
    /// `first` on. at: line or column in gradient_ of the gradient that the first of them meets.
    struct Seen {
        std::size_t first = 0, taps = 0, at = 0;
    };
    Seen seen_from(std::size_t pixel) const;

    std::size_t pitch() const { return lined_up_.width * lined_up_.channels; }

    ConvolutionTerms t_;
    Image out_, lined_up_{};                 // lined_up_: the output gradient with its zero padding
    std::size_t before_;                     // zeros before the gradient, along each axis
    std::size_t in_lanes_;                   // channels, rounded up to whole vectors
    bool by_outputs_;                        // weight gradient: lanes over output channels, not over a kernel row
    std::vector<std::size_t> place_of_tap_;  // in a row of flipped_: taps of one phase are contiguous
    Floats flipped_;                         // [kernel][kernel, by phase][out][in_lanes_]
    Floats gradient_;                        // [lined_up_]
};

}  // namespace fedhive::clients::direct
