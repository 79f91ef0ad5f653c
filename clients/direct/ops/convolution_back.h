// The way back through a convolution whose gradient is dense: no 2 x 2 pool right behind it.
#pragma once

#include "clients/direct/ops.h"

namespace fedhive::clients::direct {

/// One example's gradient at a time, 0 where the output was cut off, with zeros around: what both products are made of.
///
///   weights   Σ over lines and pixels of gradient · what the kernel saw there
///   input     where `stride` is 1 a convolution of the gradient with the kernel turned round; otherwise that of each of stride² phases, pixels
///             that lie `stride` apart and see the same taps of the kernel: no product with a zero between gradients is made
class ConvolutionBack {
public:
    explicit ConvolutionBack(const ConvolutionTerms& terms);

    /// The weights turned round, for a batch. weights: [out][in][kernel][kernel], as PyTorch has them.
    void flip_weights(const float* weights);

    /// The example in hand from here on: y, what went out, and its gradient, [pixels][out]; what that sums to is added to `bias_sums`, [out].
    void take(const Kernels& kernels, const float* y, const float* gradient, float* bias_sums);

    /// Adds to `sums`, in an order of its own; x: the padded image.
    void add_weight_gradient(const Kernels& kernels, const float* x, float* sums) const;

    /// Where among the sums that of a weight is, by its tap of the kernel, input and output.
    std::size_t place_of_sum(std::size_t tap, std::size_t in, std::size_t out) const {
        const std::size_t at = tap * t_.in.channels + in;
        return by_outputs_ ? at * t_.channels + out : out * t_.kernel * t_.kernel * t_.in.channels + at;
    }

    /// x_gradient, [pixels][in], is written.
    void input_gradient(const Kernels& kernels, float* x_gradient) const;

private:
    /// Of the kernel's taps in one direction those that see a gradient from a pixel: every stride-th from the first on; and where the first of
    /// these gradients lies, in a line or a column of what is lined up.
    struct Seen {
        std::size_t first = 0, taps = 0, at = 0;
    };
    Seen seen_from(std::size_t pixel) const;

    std::size_t pitch() const { return lined_up_.width * lined_up_.channels; }

    ConvolutionTerms t_;
    Image out_, lined_up_{};                 // the gradient with what zeros a pixel may see before and behind it
    std::size_t before_;                     // of these zeros, in either direction
    std::size_t in_lanes_;                   // channels, rounded up to whole vectors
    bool by_outputs_;                        // weights' gradient: lanes over outputs, not over a kernel row's inputs
    std::vector<std::size_t> place_of_tap_;  // in a row of the turned kernel: those of a phase side by side
    Floats flipped_;                         // [kernel][kernel, by phase][out][in_lanes_]
    Floats gradient_;                        // [lined_up_]
};

}  // namespace fedhive::clients::direct
