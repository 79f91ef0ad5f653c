// Depth-wise convolution + bias + ReLU: output channel c sees the input channel c / multiplier alone. SIMD lanes over channels in all
// passes.
//
//   weights   dw[k1][k2][c] = Σ over output lines i and pixels j of gradient[i][j][c] · x[stride · i + k1][stride · j + k2][c]
//   input     a depth-wise convolution of the gradient with the flipped kernel, one for each phase of the stride
#include "clients/direct/ops/convolution.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class DepthwiseConvolution final : public Op {
public:
    explicit DepthwiseConvolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          out_(t.out()),
          channels_(t.channels),
          multiplier_(t.channels / t.in.channels),
          padded_{t.in.height + 2 * t.padding, t.in.width + 2 * t.padding, t.channels},
          before_((t.kernel - 1 - t.padding) / t.stride),
          bias_(t),
          copy_(copies() ? padded_.size() : 0, 0.0F),
          weights_(t.kernel * t.kernel * channels_),
          flipped_(weights_.size()),
          weight_sums_(weights_.size()),
          bias_sums_(channels_),
          spread_(multiplier_ > 1 ? t.in.width * channels_ : 0) {
        // Up to the last gradient that the last pixel's taps reach.
        const auto side = [&](std::size_t pixels) { return before_ + 1 + (pixels - 1 + t.padding) / t.stride; };
        around_ = {side(t.in.height), side(t.in.width), channels_};
        gradient_.assign(around_.size(), 0.0F);
    }

    bool has_parameters() const override { return true; }

    void begin(const Pass& pass) override {
        const float* from = pass.values(t_.place.weight);
        const std::size_t taps = t_.kernel * t_.kernel;
        for (std::size_t c = 0; c < channels_; ++c)
            for (std::size_t tap = 0; tap < taps; ++tap) weights_[tap * channels_ + c] = from[c * taps + tap];
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) {
            const float* padded = pad(x + r * inputs());
            for (std::size_t i = 0; i < out_.height; ++i)
                pass.kernels->depthwise({.x = padded + i * t_.stride * pitch(),
                                         .x_line = stride_of(pitch()),
                                         .x_pixel = stride_of(t_.stride * channels_),
                                         .x_tap = stride_of(channels_),
                                         .weights = weights_.data(),
                                         .w_line = stride_of(t_.kernel * channels_),
                                         .w_tap = stride_of(channels_),
                                         .bias = bias_.of(pass),
                                         .y = y + r * outputs() + i * out_.width * channels_,
                                         .y_pixel = stride_of(channels_),
                                         .pixels = out_.width,
                                         .channels = channels_,
                                         .lines = t_.kernel,
                                         .taps = t_.kernel,
                                         .relu = t_.relu});
        }
    }

    void begin_backward(const Pass&) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        const std::size_t taps = t_.kernel * t_.kernel;
        for (std::size_t tap = 0; tap < taps; ++tap)
            std::copy_n(weights_.data() + (taps - 1 - tap) * channels_, channels_, flipped_.data() + tap * channels_);
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) {
            {
                const ProfileScope scope(pass, this, StepPhase::WeightGradient);
                take(*pass.kernels, flow.y + r * outputs(), flow.y_gradient + r * outputs());
                if (!is_frozen(t_.place.weight)) add_weight_gradient(*pass.kernels, pad(flow.x + r * inputs()));
            }
            if (flow.x_gradient != nullptr) input_gradient(*pass.kernels, flow.x_gradient + r * inputs());
        }
    }

    void end_backward(const Pass& pass) override {
        const std::size_t taps = t_.kernel * t_.kernel;
        if (float* to = pass.gradient_of(t_.place.weight))
            for (std::size_t c = 0; c < channels_; ++c)
                for (std::size_t tap = 0; tap < taps; ++tap) to[c * taps + tap] = weight_sums_[tap * channels_ + c];
        bias_.write_gradient(pass, bias_sums_);
    }

private:
    bool copies() const { return t_.padding > 0 || multiplier_ > 1; }
    std::size_t pitch() const { return padded_.width * channels_; }

    /// The image with its zero padding, each channel as often as it has outputs; valid until the next call.
    const float* pad(const float* x) {
        if (!copies()) return x;
        const std::size_t channels = t_.in.channels;
        for (std::size_t i = 0; i < t_.in.height; ++i) {
            float* to = copy_.data() + (i + t_.padding) * pitch() + t_.padding * channels_;
            const float* from = x + i * t_.in.width * channels;
            if (multiplier_ == 1)
                std::copy_n(from, t_.in.width * channels, to);
            else
                for (std::size_t k = 0; k < t_.in.width * channels_; ++k) to[k] = from[k / multiplier_];
        }
        return copy_.data();
    }

    /// The example's output gradient, masked by the ReLU, with the zeros around it that taps reach.
    void take(const Kernels& kernels, const float* y, const float* gradient) {
        const std::size_t line = out_.width * channels_;
        for (std::size_t i = 0; i < out_.height; ++i)
            kernels.bias_relu_backward({.gradient = gradient + i * line,
                                        .y = t_.relu ? y + i * line : nullptr,
                                        .to = gradient_at(before_ + i, before_),
                                        .bias_sums = bias_sums_.data(),
                                        .pixels = out_.width,
                                        .channels = channels_});
    }

    float* gradient_at(std::size_t line, std::size_t pixel) {
        return gradient_.data() + (line * around_.width + pixel) * channels_;
    }

    void add_weight_gradient(const Kernels& kernels, const float* x) {
        for (std::size_t i = 0; i < out_.height; ++i)
            kernels.depthwise_weights({.x = x + i * t_.stride * pitch(),
                                       .x_line = stride_of(pitch()),
                                       .x_pixel = stride_of(t_.stride * channels_),
                                       .gradient = gradient_at(before_ + i, before_),
                                       .sums = weight_sums_.data(),
                                       .pixels = out_.width,
                                       .channels = channels_,
                                       .kernel = t_.kernel});
    }

    /// In one direction, the flipped kernel's taps that reach an output gradient from an input pixel: `taps` of them, every
    /// stride-th from `first` on. at: the first such gradient's line or column in gradient_.
    struct Seen {
        std::size_t first = 0, taps = 0, at = 0;
    };
    Seen seen_from(std::size_t pixel) const {
        const std::size_t margin = t_.kernel - 1 - t_.padding;
        Seen seen;
        seen.first = (margin + t_.stride - pixel % t_.stride) % t_.stride;
        if (seen.first >= t_.kernel) return {};  // the stride skips this pixel
        seen.taps = (t_.kernel - seen.first + t_.stride - 1) / t_.stride;
        seen.at = (before_ * t_.stride + pixel + seen.first - margin) / t_.stride;
        return seen;
    }

    void input_gradient(const Kernels& kernels, float* x_gradient) {
        const std::size_t line = t_.in.width * t_.in.channels;
        for (std::size_t i = 0; i < t_.in.height; ++i) {
            float* to = multiplier_ > 1 ? spread_.data() : x_gradient + i * line;
            for (std::size_t phase = 0; phase < std::min(t_.stride, t_.in.width); ++phase) {
                const Seen above = seen_from(i), beside = seen_from(phase);
                kernels.depthwise({.x = gradient_at(above.at, beside.at),
                                   .x_line = stride_of(around_.width * channels_),
                                   .x_pixel = stride_of(channels_),
                                   .x_tap = stride_of(channels_),
                                   .weights = flipped_.data() + (above.first * t_.kernel + beside.first) * channels_,
                                   .w_line = stride_of(t_.stride * t_.kernel * channels_),
                                   .w_tap = stride_of(t_.stride * channels_),
                                   .y = to + phase * channels_,
                                   .y_pixel = stride_of(t_.stride * channels_),
                                   .pixels = (t_.in.width - phase + t_.stride - 1) / t_.stride,
                                   .channels = channels_,
                                   .lines = above.taps,
                                   .taps = beside.taps});
            }
            for (std::size_t k = 0; k < line && multiplier_ > 1; ++k) {
                float sum = 0.0F;
                for (std::size_t m = 0; m < multiplier_; ++m) sum += spread_[k * multiplier_ + m];
                x_gradient[i * line + k] = sum;
            }
        }
    }

    ConvolutionTerms t_;
    Image out_;
    std::size_t channels_, multiplier_;  // of the output; outputs of one input channel
    Image padded_, around_{};            // the input with its zero padding; the output gradient likewise
    std::size_t before_;                 // zeros before the gradient, in each direction
    BiasOrZeros bias_;
    Floats copy_;                 // [padded_]
    Floats weights_, flipped_;    // [kernel][kernel][channels_]
    Floats weight_sums_;          // likewise
    Floats bias_sums_;            // [channels_]
    Floats gradient_{}, spread_;  // [around_]; a line of x_gradient before its sums over outputs of one channel
};

}  // namespace

std::unique_ptr<Op> make_depthwise_convolution(const ConvolutionTerms& terms) {
    return std::make_unique<DepthwiseConvolution>(terms);
}

}  // namespace fedhive::clients::direct
