// Convolutions with a square kernel: the functions that make each form, one file a form, and the parts that forms share.
#pragma once

#include "clients/direct/ops.h"

#include <algorithm>
#include <memory>

namespace fedhive::clients::direct {

struct WinogradMemory;

/// The convolution, and the layers fused with it.
struct ConvolutionTerms {
    Image in;
    std::size_t channels = 1, kernel = 1, stride = 1, padding = 0;  // padding below kernel
    bool relu = false;
    bool pool = false;  // 2 × 2 max pool
    Drop drop{};        // of whole channels; only with `pool`
    TensorOffsets place{};
    std::shared_ptr<WinogradMemory> memory{};  // the network's; null: the operation has its own
    bool whole_batch = false;                  // each pass gets a batch in one piece

    Image convolved() const {
        return {(in.height + 2 * padding - kernel) / stride + 1, (in.width + 2 * padding - kernel) / stride + 1, channels};
    }
    Image out() const {
        const Image all = convolved();
        return pool ? Image{all.height / 2, all.width / 2, channels} : all;
    }
};

/// Implicit GEMM in all passes. Precondition: no pool.
std::unique_ptr<Op> make_dense_convolution(const ConvolutionTerms& terms);

/// Whether the convolution is computed by Winograd F(2 × 2, 3 × 3); with a pool, only its forward pass is. Bits depend on this choice, so it
/// depends on the shape alone.
bool uses_winograd(const ConvolutionTerms& terms);
/// Winograd in all passes. Precondition: uses_winograd(terms) and no pool.
std::unique_ptr<Op> make_winograd_convolution(const ConvolutionTerms& terms);

/// Convolution + bias + dropout + ReLU + 2 × 2 max pool, with a sparse backward pass. Precondition: a pool.
std::unique_ptr<Op> make_pooled_convolution(const ConvolutionTerms& terms, const Kernels& kernels);

/// A convolution of each input channel by itself; each gives equally many of the terms.channels output channels. Precondition: no pool.
std::unique_ptr<Op> make_depthwise_convolution(const ConvolutionTerms& terms);

/// A convolution of groups of channels: one dense or Winograd convolution for each. Precondition: no pool.
std::unique_ptr<Op> make_grouped_convolution(const ConvolutionTerms& terms, std::size_t groups);

/// Sizes that follow from the terms.
struct ConvolutionSizes {
    explicit ConvolutionSizes(const ConvolutionTerms& terms);

    Image convolved, out, padded;  // padded: the input with its zero padding
    std::size_t out_lanes;         // output channels, rounded up to whole vectors
    std::size_t row;               // kernel · input channels: floats under one kernel row
    std::size_t of_output;         // kernel · row: weights of one output channel
    std::size_t pitch() const { return padded.width * padded.channels; }
};

/// Zero-padded copies of images. Without padding there is no copy: the functions return the images themselves.
class PaddedImages {
public:
    explicit PaddedImages(const ConvolutionTerms& terms, std::size_t images = 1);
    void reserve(std::size_t images);

    /// The padded image of x, stored as copy `r` until the next call with that r.
    const float* pad(const float* x, std::size_t r = 0);

    /// Copy 0 of those that pad() made of the images at x, [images][padded].
    const float* all(const float* x) const { return terms_.padding == 0 ? x : copies_.data(); }

private:
    ConvolutionTerms terms_;
    Image padded_;
    Floats copies_;  // [images][padded_]
};

/// Weights in the order that forward reads, [kernel][kernel][in][out_lanes].
class ForwardWeights {
public:
    explicit ForwardWeights(const ConvolutionTerms& terms);

    /// Called once per batch: stores the weights, [out][in][kernel][kernel] in PyTorch's order.
    void take(const float* weights);
    const float* data() const { return values_.data(); }

private:
    ConvolutionTerms terms_;
    std::size_t out_lanes_;
    Floats values_;
};

/// The bias of the output channels, zeros for a convolution without one.
class BiasOrZeros {
public:
    explicit BiasOrZeros(const ConvolutionTerms& terms) : place_(terms.place), zeros_(there() ? 0 : terms.channels, 0.0F) {}
    bool there() const { return place_.bias != TensorOffsets::kNone; }
    const float* of(const Pass& pass) const { return there() ? pass.values(place_.bias) : zeros_.data(); }
    void write_gradient(const Pass& pass, const Floats& sums) const {
        if (there() && !is_frozen(place_.bias)) std::copy(sums.begin(), sums.end(), pass.gradient_of(place_.bias));
    }

private:
    TensorOffsets place_;
    Floats zeros_;
};

/// One line of the convolution without bias, [pixels][out_lanes]; x: the padded image.
void convolve_line(const Kernels& kernels, const ConvolutionTerms& terms, const ConvolutionSizes& sizes,
                   const ForwardWeights& weights, const float* x, std::size_t line, std::size_t pixels, float* to);

/// visit(tap, input channel, output channel, index in the weights [out][in][kernel][kernel]) in the order of that index.
template <typename Visit>
void for_each_weight(const ConvolutionTerms& terms, const Visit& visit) {
    const std::size_t taps = terms.kernel * terms.kernel;
    std::size_t place = 0;
    for (std::size_t out = 0; out < terms.channels; ++out)
        for (std::size_t in = 0; in < terms.in.channels; ++in)
            for (std::size_t tap = 0; tap < taps; ++tap) visit(tap, in, out, place++);
}

}  // namespace fedhive::clients::direct
