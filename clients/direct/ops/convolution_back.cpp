#include "clients/direct/ops/convolution_back.h"

#include <algorithm>

namespace fedhive::clients::direct {

ConvolutionBack::ConvolutionBack(const ConvolutionTerms& t)
    : t_(t),
      out_(t.convolved()),
      before_((t.kernel - 1 - t.padding) / t.stride),
      in_lanes_(to_lanes(t.in.channels)),
      // Lanes over the dimension that leaves fewer idle: a kernel row of a single-channel image has only `kernel` floats.
      by_outputs_(to_lanes(t.kernel * t.in.channels) * t.channels > to_lanes(t.channels) * t.kernel * t.in.channels),
      flipped_(t.kernel * t.kernel * t.channels * in_lanes_) {
    // Up to the last gradient that the last pixel's taps reach.
    const auto side = [&](std::size_t pixels) { return before_ + 1 + (pixels - 1 + t.padding) / t.stride; };
    lined_up_ = {side(t.in.height), side(t.in.width), t.channels};
    gradient_.resize(lined_up_.size());
    place_of_tap_.resize(t.kernel);
    std::size_t place = 0;
    for (std::size_t phase = 0; phase < t.stride; ++phase)
        for (std::size_t tap = phase; tap < t.kernel; tap += t.stride) place_of_tap_[tap] = place++;
}

void ConvolutionBack::flip_weights(const float* weights) {
    const std::size_t taps = t_.kernel * t_.kernel, of_output = t_.in.channels * taps;
    for (std::size_t k1 = 0; k1 < t_.kernel; ++k1)
        for (std::size_t k2 = 0; k2 < t_.kernel; ++k2) {
            const float* from = weights + (t_.kernel - 1 - k1) * t_.kernel + t_.kernel - 1 - k2;
            float* to = flipped_.data() + (k1 * t_.kernel + place_of_tap_[k2]) * t_.channels * in_lanes_;
            for (std::size_t out = 0; out < t_.channels; ++out, to += in_lanes_)
                for (std::size_t in = 0; in < t_.in.channels; ++in) to[in] = from[out * of_output + in * taps];
        }
}

void ConvolutionBack::take(const Kernels& kernels, const float* y, const float* gradient, float* bias_sums) {
    const std::size_t line = out_.width * t_.channels;
    for (std::size_t i = 0; i < out_.height; ++i)
        kernels.bias_relu_backward({.gradient = gradient + i * line,
                                    .y = t_.relu ? y + i * line : nullptr,
                                    .to = gradient_.data() + (before_ + i) * pitch() + before_ * t_.channels,
                                    .bias_sums = bias_sums,
                                    .pixels = out_.width,
                                    .channels = t_.channels});
}

void ConvolutionBack::add_weight_gradient(const Kernels& kernels, const float* x, float* sums) const {
    const std::size_t row = t_.kernel * t_.in.channels, line = (t_.in.width + 2 * t_.padding) * t_.in.channels;
    for (std::size_t k = 0; k < t_.kernel; ++k) {
        if (by_outputs_) {
            kernels.gemm({.a = x + k * line,
                          .a_row = 1,
                          .a_outer = stride_of(t_.stride * line),
                          .a_inner = stride_of(t_.stride * t_.in.channels),
                          .m = gradient_.data() + before_ * (pitch() + t_.channels),
                          .m_outer = stride_of(pitch()),
                          .m_inner = stride_of(t_.channels),
                          .out = sums + k * row * t_.channels,
                          .out_row = stride_of(t_.channels),
                          .rows = row,
                          .columns = t_.channels,
                          .outer = out_.height,
                          .inner = out_.width,
                          .add = true});
            continue;
        }
        kernels.gemm({.a = gradient_.data() + before_ * (pitch() + t_.channels),
                      .a_row = 1,
                      .a_outer = stride_of(pitch()),
                      .a_inner = stride_of(t_.channels),
                      .m = x + k * line,
                      .m_outer = stride_of(t_.stride * line),
                      .m_inner = stride_of(t_.stride * t_.in.channels),
                      .out = sums + k * row,
                      .out_row = stride_of(t_.kernel * row),
                      .rows = t_.channels,
                      .columns = row,
                      .outer = out_.height,
                      .inner = out_.width,
                      .add = true});
    }
}

ConvolutionBack::Seen ConvolutionBack::seen_from(std::size_t pixel) const {
    const std::size_t margin = t_.kernel - 1 - t_.padding;
    Seen seen;
    seen.first = (margin + t_.stride - pixel % t_.stride) % t_.stride;
    if (seen.first >= t_.kernel) return seen;  // the stride skips this pixel
    seen.taps = (t_.kernel - seen.first + t_.stride - 1) / t_.stride;
    seen.at = (before_ * t_.stride + pixel + seen.first - margin) / t_.stride;
    return seen;
}

void ConvolutionBack::input_gradient(const Kernels& kernels, float* x_gradient) const {
    const std::size_t tap = t_.channels * in_lanes_;
    for (std::size_t i = 0; i < t_.in.height; ++i)
        for (std::size_t phase = 0; phase < std::min(t_.stride, t_.in.width); ++phase) {
            const Seen above = seen_from(i), beside = seen_from(phase);
            const bool nothing = above.taps == 0 || beside.taps == 0;
            const std::size_t place = nothing ? 0 : place_of_tap_[beside.first];
            kernels.gemm({.a = gradient_.data() + above.at * pitch() + beside.at * t_.channels,
                          .a_row = stride_of(t_.channels),
                          .a_outer = stride_of(pitch()),
                          .a_inner = 1,
                          .m = flipped_.data() + (nothing ? 0 : above.first * t_.kernel + place) * tap,
                          .m_outer = stride_of(t_.stride * t_.kernel * tap),
                          .m_inner = stride_of(in_lanes_),
                          .out = x_gradient + (i * t_.in.width + phase) * t_.in.channels,
                          .out_row = stride_of(t_.stride * t_.in.channels),
                          .rows = (t_.in.width - phase + t_.stride - 1) / t_.stride,
                          .columns = t_.in.channels,
                          .outer = above.taps,
                          .inner = beside.taps * t_.channels});
        }
}

}  // namespace fedhive::clients::direct
