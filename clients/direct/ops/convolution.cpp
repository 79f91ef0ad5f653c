// Implicit-GEMM convolution. SIMD lanes: forward over output channels (before a 2 × 2 pool: Winograd, or over pixels if that
// leaves fewer lanes idle); weight gradient over one kernel row; input gradient over input channels. After a 2 × 2 pool at
// least 3/4 of the output gradient is zero, so backward walks lists of the nonzeros.
#include "clients/direct/ops/convolution_back.h"
#include "clients/direct/ops/sparse_gradient.h"
#include "clients/direct/ops/winograd.h"

#include <algorithm>
#include <array>
#include <optional>

namespace fedhive::clients::direct {

namespace {

class Convolution final : public Op {
public:
    explicit Convolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          convolved_(t.convolved()),
          out_(t.out()),
          padded_{t.in.height + 2 * t.padding, t.in.width + 2 * t.padding, t.in.channels},
          out_lanes_(to_lanes(t.channels)),
          row_(t.kernel * t.in.channels),
          weights_of_output_(t.kernel * row_),
          forward_weights_(weights_of_output_ * out_lanes_),
          line_(2 * convolved_.width * out_lanes_),
          weight_sums_(t.channels * weights_of_output_),
          bias_sums_(t.channels),
          no_bias_(t.place.bias == Place::kNone ? t.channels : 0, 0.0F) {
        if (t.pool && t.in.channels == 1 && t.stride == 1 && t.kernel <= kMostSingleChannelTaps)
            single_channel_sums_.resize(weights_of_output_ * out_lanes_);
        if (t.pool) {
            output_weights_.resize(weight_sums_.size());
            of_window_.reserve(kMasked, t.channels);
            for (std::size_t c = 0; c < out_lanes_; ++c)
                at_channel_.push_back(static_cast<std::int32_t>(c * weights_of_output_));
            for (std::size_t p = 0; p < out_.pixels(); ++p)
                at_pixel_.push_back(static_cast<std::int32_t>(from_window(p / out_.width, p % out_.width, 0)));
            for (std::size_t q = 0; q < kMasked; ++q) at_window_[q] = static_cast<std::int32_t>(from_window(0, 0, q));
            if (t.padding > 0) padded_gradient_.resize(padded_.size());
            if (uses_winograd(t)) winograd_.emplace(t.in, t.padding, Image{2 * out_.height, 2 * out_.width, t.channels});
            if (fills_pixels()) {
                planes_.assign(padded_.size() + 2 * kPixelsAtOnce, 0.0F);
                for (std::size_t k1 = 0; k1 < t.kernel; ++k1)
                    for (std::size_t k2 = 0; k2 < t.kernel; ++k2)
                        for (std::size_t c = 0; c < t.in.channels; ++c)
                            at_tap_.push_back(static_cast<std::int32_t>(c * padded_.pixels() + k1 * padded_.width + k2));
            }
        } else {
            back_.emplace(t);
        }
    }

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t group) override {
        if (t_.padding > 0) padded_x_.assign(group * padded_.size(), 0.0F);
        if (!t_.pool) return;
        argmax_.resize(examples * out_.size());
        of_channel_.reserve(t_.channels, group * out_.pixels());
        if (t_.drop.p > 0.0) scale_.resize(examples * t_.channels);
        ones_.assign(t_.channels, 1.0F);
    }

    void begin(const Pass& pass) override {
        // Written in memory order: output channels are contiguous.
        const std::size_t taps = t_.kernel * t_.kernel, of_output = t_.in.channels * taps;
        for (std::size_t in = 0; in < t_.in.channels; ++in)
            for (std::size_t tap = 0; tap < taps; ++tap) {
                const float* from = pass.parameters + t_.place.weight + in * taps + tap;
                float* to = forward_weights_.data() + (tap * t_.in.channels + in) * out_lanes_;
                for (std::size_t out = 0; out < t_.channels; ++out) to[out] = from[out * of_output];
            }
        if (winograd_) winograd_->take_weights(*pass.kernels, forward_weights_.data());
    }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        if (winograd_) return forward_winograd(pass, x, y, rows);
        for (std::size_t r = 0; r < rows.count; ++r) {
            const float* from = padded(x + r * inputs(), r);
            float* to = y + r * outputs();
            t_.pool ? forward_pooled(pass, from, to, rows.first + r) : forward_plain(pass, from, to);
        }
    }

    void begin_backward(const Pass& pass) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(single_channel_sums_.begin(), single_channel_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        if (!t_.pool) return back_->flip_weights(pass.parameters + t_.place.weight);
        for_each_weight([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            output_weights_[out * weights_of_output_ + tap * t_.in.channels + in] = pass.parameters[t_.place.weight + place];
        });
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        t_.pool ? backward_pooled(pass, flow, rows) : backward_plain(pass, flow, rows);
    }

    void end_backward(const Pass& pass) override {
        const bool single_channel = one_channel(pass);
        const float* sums = single_channel ? single_channel_sums_.data() : weight_sums_.data();
        for_each_weight([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            const std::size_t from = single_channel ? tap * out_lanes_ + out
                                     : back_        ? back_->place_of_sum(tap, in, out)
                                                    : out * weights_of_output_ + tap * t_.in.channels + in;
            pass.gradient[t_.place.weight + place] = sums[from];
        });
        if (no_bias_.empty()) std::copy(bias_sums_.begin(), bias_sums_.end(), pass.gradient + t_.place.bias);
    }

private:
    /// visit(tap, input channel, output channel, index in the weights [out][in][kernel][kernel]) in the order of that index.
    template <typename Visit>
    void for_each_weight(const Visit& visit) const {
        const std::size_t taps = t_.kernel * t_.kernel;
        std::size_t place = 0;
        for (std::size_t out = 0; out < t_.channels; ++out)
            for (std::size_t in = 0; in < t_.in.channels; ++in)
                for (std::size_t tap = 0; tap < taps; ++tap) visit(tap, in, out, place++);
    }

    const float* bias(const Pass& pass) const { return no_bias_.empty() ? pass.parameters + t_.place.bias : no_bias_.data(); }

    std::size_t pitch() const { return padded_.width * padded_.channels; }

    /// Image r with zero padding. Rebuilt in backward: copies kept for a whole batch would have left the cache by then.
    const float* padded(const float* x, std::size_t r) {
        if (t_.padding == 0) return x;
        float* to = padded_x_.data() + r * padded_.size();
        const std::size_t line = t_.in.width * t_.in.channels;
        for (std::size_t i = 0; i < t_.in.height; ++i)
            std::copy_n(x + i * line, line, to + (i + t_.padding) * pitch() + t_.padding * t_.in.channels);
        return to;
    }

    /// One line of the convolution without bias, [pixels][out_lanes_].
    void convolve(const Pass& pass, const float* x, std::size_t line, std::size_t pixels, float* to) const {
        pass.kernels->gemm({.a = x + line * t_.stride * pitch(),
                            .a_row = stride_of(t_.stride * t_.in.channels),
                            .a_outer = stride_of(pitch()),
                            .a_inner = 1,
                            .m = forward_weights_.data(),
                            .m_outer = stride_of(row_ * out_lanes_),
                            .m_inner = stride_of(out_lanes_),
                            .out = to,
                            .out_row = stride_of(out_lanes_),
                            .rows = pixels,
                            .columns = out_lanes_,
                            .outer = t_.kernel,
                            .inner = row_});
    }

    void forward_plain(const Pass& pass, const float* x, float* y) {
        // Without bias, ReLU and padding lanes the sums are the output: write them there at once.
        const bool finished = !no_bias_.empty() && !t_.relu && out_lanes_ == t_.channels;
        for (std::size_t i = 0; i < out_.height; ++i) {
            convolve(pass, x, i, out_.width, finished ? y + i * out_.width * t_.channels : line_.data());
            if (finished) continue;
            pass.kernels->bias_relu({.x = line_.data(),
                                     .bias = bias(pass),
                                     .y = y + i * out_.width * t_.channels,
                                     .pixels = out_.width,
                                     .channels = t_.channels,
                                     .padded = out_lanes_,
                                     .relu = t_.relu});
        }
    }

    /// Whether lanes over pixels take at most 4/5 of the vectors that lanes over channels take; a fifth pays for in_planes().
    bool fills_pixels() const {
        const std::size_t places = out_.height * ((out_.width + kPixelsAtOnce / 2 - 1) / (kPixelsAtOnce / 2));
        return t_.pool && t_.stride == 1 && 5 * places * t_.channels <= 4 * 4 * out_.pixels() * (out_lanes_ / kLaneCount);
    }

    /// The padded image, [in][padded height][padded width].
    const float* in_planes(const float* x) {
        const std::size_t channels = padded_.channels, pixels = padded_.pixels();
        float* to = planes_.data() + kPixelsAtOnce;
        if (channels == 1) std::copy_n(x, pixels, to);
        for (std::size_t c = 0; c < channels && channels > 1; ++c)
            for (std::size_t p = 0; p < pixels; ++p) to[c * pixels + p] = x[p * channels + c];
        return to;
    }

    void forward_pixel_lanes(const Pass& pass, const float* x, const float* scale, float* y, std::uint8_t* argmax) {
        pass.kernels->convolve_pool2x2({.x = in_planes(x),
                                        .x_line = stride_of(padded_.width),
                                        .at = at_tap_.data(),
                                        .weights = forward_weights_.data(),
                                        .taps = weights_of_output_,
                                        .bias = bias(pass),
                                        .scale = scale,
                                        .y = y,
                                        .argmax = argmax,
                                        .lines = out_.height,
                                        .pixels = out_.width,
                                        .channels = t_.channels,
                                        .padded = out_lanes_,
                                        .relu = t_.relu});
    }

    /// Draws the factors of dropout for a row's channels, [channels]; null without dropout.
    const float* draw_scale(const Pass& pass, std::size_t row) {
        if (t_.drop.p == 0.0 || !pass.training) return nullptr;
        float* scale = scale_.data() + row * t_.channels;
        drop_values(pass, ones_.data(), scale, t_.channels, t_.drop, row * t_.channels);
        return scale;
    }

    void forward_winograd(const Pass& pass, const float* x, float* y, Rows rows) {
        const float* scale = nullptr;
        winograd_->for_each_line(*pass.kernels, x, rows.count, [&](std::size_t r, std::size_t line, const float* sums) {
            if (line == 0) scale = draw_scale(pass, rows.first + r);
            const std::size_t at = line * out_.width * t_.channels;
            pass.kernels->winograd_pool2x2({.sums = sums,
                                            .sums_place = winograd_->sums_place(),
                                            .bias = bias(pass),
                                            .scale = scale,
                                            .y = y + r * outputs() + at,
                                            .argmax = argmax_.data() + (rows.first + r) * out_.size() + at,
                                            .pixels = out_.width,
                                            .channels = t_.channels,
                                            .relu = t_.relu});
        });
    }

    void forward_pooled(const Pass& pass, const float* x, float* y, std::size_t row) {
        const float* scale = draw_scale(pass, row);
        if (pass.kernels->prefers_pixel_lanes && !planes_.empty())
            return forward_pixel_lanes(pass, x, scale, y, argmax_.data() + row * out_.size());
        float* lower = line_.data() + 2 * out_.width * out_lanes_;
        for (std::size_t i = 0; i < out_.height; ++i) {
            convolve(pass, x, 2 * i, 2 * out_.width, line_.data());
            convolve(pass, x, 2 * i + 1, 2 * out_.width, lower);
            const std::size_t at = i * out_.width * t_.channels;
            pass.kernels->pool2x2({.upper = line_.data(),
                                   .lower = lower,
                                   .bias = bias(pass),
                                   .scale = scale,
                                   .y = y + at,
                                   .argmax = argmax_.data() + row * out_.size() + at,
                                   .pixels = out_.width,
                                   .channels = t_.channels,
                                   .padded = out_lanes_,
                                   .relu = t_.relu});
        }
    }

    void backward_pooled(const Pass& pass, const Flow& flow, Rows rows) {
        const bool scaled = t_.drop.p > 0.0 && pass.training;
        of_channel_.clear();
        for (std::size_t r = 0; r < rows.count; ++r) {
            float* gradient = flow.y_gradient + r * outputs();
            const std::uint8_t* argmax = argmax_.data() + (rows.first + r) * out_.size();
            if (scaled) {
                const float* scale = scale_.data() + (rows.first + r) * t_.channels;
                for (std::size_t p = 0; p < out_.pixels(); ++p)
                    for (std::size_t c = 0; c < t_.channels; ++c) gradient[p * t_.channels + c] *= scale[c];
            }
            {
                const ProfileScope scope(pass, this, Part::WeightGradient);
                const float* x = padded(flow.x + r * inputs(), r);
                if (one_channel(pass))
                    add_single_channel(pass, x, gradient, argmax);
                else
                    collect_by_channel(pass, gradient, argmax, r);
            }
            if (flow.x_gradient != nullptr) input_gradient(pass, gradient, argmax, flow.x_gradient + r * inputs());
        }
        if (one_channel(pass)) return;
        const ProfileScope scope(pass, this, Part::WeightGradient);
        const float* x = t_.padding == 0 ? flow.x : padded_x_.data();
        for (std::size_t c = 0; c < t_.channels; ++c) {
            const float* values = of_channel_.values_of(c);
            for (std::size_t n = 0; n < of_channel_.counts[c]; ++n) bias_sums_[c] += values[n];
            pass.kernels->sparse_update({.out = weight_sums_.data() + c * weights_of_output_,
                                         .out_row = stride_of(row_),
                                         .m = x,
                                         .m_row = stride_of(pitch()),
                                         .rows = t_.kernel,
                                         .columns = row_,
                                         .at = of_channel_.at_of(c),
                                         .values = values,
                                         .count = of_channel_.counts[c]});
        }
    }

    bool one_channel(const Pass& pass) const { return pass.kernels->prefers_pixel_lanes && !single_channel_sums_.empty(); }

    void add_single_channel(const Pass& pass, const float* x, const float* gradient, const std::uint8_t* argmax) {
        pass.kernels->single_channel_gradient({.x = x,
                                               .x_line = stride_of(pitch()),
                                               .values = gradient,
                                               .argmax = argmax,
                                               .lines = out_.height,
                                               .pixels = out_.width,
                                               .channels = t_.channels,
                                               .padded = out_lanes_,
                                               .kernel = t_.kernel,
                                               .sums = single_channel_sums_.data(),
                                               .bias_sums = bias_sums_.data()});
    }

    /// Offset in the padded image of the input under the kernel's first tap, for place `argmax` of window (i, j).
    std::size_t from_window(std::size_t i, std::size_t j, std::size_t argmax) const {
        return (2 * i + argmax / 2) * t_.stride * pitch() + (2 * j + argmax % 2) * t_.stride * t_.in.channels;
    }

    void collect_by_channel(const Pass& pass, const float* gradient, const std::uint8_t* argmax, std::size_t r) {
        for (std::size_t c = 0; c < t_.channels; ++c) {
            std::size_t& count = of_channel_.counts[c];
            count += pass.kernels->sparse_channel_gradient({.values = gradient + c,
                                                            .argmax = argmax + c,
                                                            .stride = t_.channels,
                                                            .pixels = out_.pixels(),
                                                            .at_pixel = at_pixel_.data(),
                                                            .at_window = at_window_.data(),
                                                            .add = static_cast<std::int32_t>(r * padded_.size()),
                                                            .at = of_channel_.at_of(c) + count,
                                                            .listed = of_channel_.values_of(c) + count});
        }
    }

    void input_gradient(const Pass& pass, const float* gradient, const std::uint8_t* argmax, float* x_gradient) {
        float* to = t_.padding == 0 ? x_gradient : padded_gradient_.data();
        std::fill_n(to, padded_.size(), 0.0F);
        SparsePixelGradient list{.at_channel = at_channel_.data(), .channels = t_.channels};
        for (std::size_t q = 0; q < kMasked; ++q) {
            list.at[q] = of_window_.at_of(q);
            list.listed[q] = of_window_.values_of(q);
        }
        for (std::size_t p = 0; p < out_.pixels(); ++p) {
            list.values = gradient + p * t_.channels;
            list.argmax = argmax + p * t_.channels;
            pass.kernels->sparse_pixel_gradient(list);
            for (std::size_t q = 0; q < kMasked; ++q)
                pass.kernels->sparse_update({.out = to + at_pixel_[p] + at_window_[q],
                                             .out_row = stride_of(pitch()),
                                             .m = output_weights_.data(),
                                             .m_row = stride_of(row_),
                                             .rows = t_.kernel,
                                             .columns = row_,
                                             .at = list.at[q],
                                             .values = list.listed[q],
                                             .count = list.counts[q]});
        }
        if (t_.padding > 0) take_from_padded(x_gradient);
    }

    void take_from_padded(float* x_gradient) const {
        const std::size_t line = t_.in.width * t_.in.channels;
        for (std::size_t i = 0; i < t_.in.height; ++i)
            std::copy_n(padded_gradient_.data() + (i + t_.padding) * pitch() + t_.padding * t_.in.channels, line,
                        x_gradient + i * line);
    }

    void backward_plain(const Pass& pass, const Flow& flow, Rows rows) {
        for (std::size_t r = 0; r < rows.count; ++r) {
            {
                const ProfileScope scope(pass, this, Part::WeightGradient);
                back_->take(*pass.kernels, flow.y + r * outputs(), flow.y_gradient + r * outputs(), bias_sums_.data());
                back_->add_weight_gradient(*pass.kernels, padded(flow.x + r * inputs(), 0), weight_sums_.data());
            }
            if (flow.x_gradient != nullptr) back_->input_gradient(*pass.kernels, flow.x_gradient + r * inputs());
        }
    }

    ConvolutionTerms t_;
    Image convolved_, out_, padded_;
    std::size_t out_lanes_;  // output channels, rounded up to whole vectors
    std::size_t row_;        // kernel · in: floats under one kernel row
    std::size_t weights_of_output_;
    Floats forward_weights_;                     // [kernel][kernel][in][out_lanes_]
    Floats output_weights_;                      // [out][kernel][kernel][in], where it pools
    std::optional<ConvolutionBack> back_;        // where it does not
    std::optional<WinogradConvolver> winograd_;  // where it pools and uses_winograd()
    Floats line_;                                // two lines of the convolution
    Floats weight_sums_;                         // [out][kernel][kernel][in], or as back_ has them
    Floats single_channel_sums_;                 // [kernel][kernel][out_lanes_], for one_channel(); else empty
    Floats bias_sums_;                           // [out]
    Floats no_bias_;                             // [out] zeros without a bias; else empty
    Floats padded_x_;                            // [group][padded_]
    Floats planes_;           // in_planes() with kPixelsAtOnce floats before and after, for lanes over pixels; else empty
    Floats padded_gradient_;  // [padded_], where it pools
    Floats scale_, ones_;     // [examples][channels], [channels]
    std::vector<std::uint8_t> argmax_;  // [examples][out_]
    SparseGradient of_channel_, of_window_;
    std::vector<std::int32_t> at_pixel_, at_channel_;  // offsets: of a pooled pixel's window, of an output's weights
    std::vector<std::int32_t> at_tap_;                 // offset in planes_ of each tap's input
    std::array<std::int32_t, kMasked + 1> at_window_{};
};

}  // namespace

std::unique_ptr<Op> make_convolution(const ConvolutionTerms& terms) { return std::make_unique<Convolution>(terms); }

}  // namespace fedhive::clients::direct
