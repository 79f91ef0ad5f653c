// A 3 × 3 convolution without a fused pool: forward, input gradient and weight gradient by Winograd.
#include "clients/direct/ops/winograd.h"

namespace fedhive::clients::direct {

namespace {

constexpr std::size_t kTaps = 9;

class WinogradConvolution final : public Op {
public:
    explicit WinogradConvolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          out_(t.out()),
          forward_(t.in, t.padding, out_),
          backward_(out_, 2 - t.padding, t.in),
          input_tiles_(WinogradImages::under(t.in, t.padding, out_)),
          grad_tiles_(WinogradImages::under(out_, 0, out_)),
          input_block_(input_tiles_.at_once() * input_tiles_.wide, t.in.channels),
          grad_block_(input_tiles_.at_once() * input_tiles_.wide, t.channels),
          taps_(kTaps * t.in.channels * t.channels),
          weight_sums_(kWinogradPlaces * t.in.channels * t.channels),
          bias_sums_(t.channels) {}

    bool has_parameters() const override { return true; }

    void begin(const Pass& pass) override {
        const float* from = pass.values(t_.place.weight);
        for_each_tap([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            taps_[(tap * t_.in.channels + in) * t_.channels + out] = from[place];
        });
        forward_.take_weights(*pass.kernels, taps_.data());
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        convolve(*pass.kernels, forward_, x, rows.count,
                 {.bias = has_bias() ? pass.values(t_.place.bias) : nullptr,
                  .y = y,
                  .y_line = stride_of(out_.width * t_.channels),
                  .lines = out_.height,
                  .pixels = out_.width,
                  .channels = t_.channels,
                  .relu = t_.relu});
    }

    void begin_backward(const Pass& pass) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        const float* from = pass.values(t_.place.weight);
        for_each_tap([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            taps_[((kTaps - 1 - tap) * t_.channels + out) * t_.in.channels + in] = from[place];
        });
        backward_.take_weights(*pass.kernels, taps_.data());
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        {
            const ProfileScope scope(pass, this, StepPhase::WeightGradient);
            finish_gradient(*pass.kernels, flow, rows.count);
            if (!is_frozen(t_.place.weight)) add_weight_gradient(*pass.kernels, flow, rows.count);
        }
        if (flow.x_gradient == nullptr) return;
        convolve(*pass.kernels, backward_, flow.y_gradient, rows.count,
                 {.y = flow.x_gradient,
                  .y_line = stride_of(t_.in.width * t_.in.channels),
                  .lines = t_.in.height,
                  .pixels = t_.in.width,
                  .channels = t_.in.channels});
    }

    void end_backward(const Pass& pass) override {
        if (has_bias() && !is_frozen(t_.place.bias))
            std::copy(bias_sums_.begin(), bias_sums_.end(), pass.gradient_of(t_.place.bias));
        float* to = pass.gradient_of(t_.place.weight);
        if (to == nullptr) return;
        pass.kernels->winograd_weight_gradient(weight_sums_.data(), taps_.data(), t_.in.channels * t_.channels);
        for_each_tap([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            to[place] = taps_[(tap * t_.in.channels + in) * t_.channels + out];
        });
    }

private:
    bool has_bias() const { return t_.place.bias != TensorOffsets::kNone; }

    /// As for_each_weight() of convolution.h, but output channels innermost, as in taps_.
    template <typename Visit>
    void for_each_tap(const Visit& visit) const {
        for (std::size_t in = 0; in < t_.in.channels; ++in)
            for (std::size_t tap = 0; tap < kTaps; ++tap)
                for (std::size_t out = 0; out < t_.channels; ++out)
                    visit(tap, in, out, (out * t_.in.channels + in) * kTaps + tap);
    }

    /// Writes all outputs; `out` holds the arguments that all lines of tiles share.
    static void convolve(const Kernels& kernels, WinogradConvolver& way, const float* x, std::size_t images,
                         const WinogradOutputs& out) {
        way.for_each_line(kernels, x, images, [&](std::size_t image, std::size_t line, const float* sums) {
            WinogradOutputs one = out;
            one.sums = sums;
            one.sums_place = way.sums_place();
            one.y += static_cast<Stride>(image * out.lines + 2 * line) * out.y_line;
            one.lines = out.lines - 2 * line;
            kernels.winograd_outputs(one);
        });
    }

    /// Masks flow.y_gradient by the ReLU in place, and adds its sums to bias_sums_.
    void finish_gradient(const Kernels& kernels, const Flow& flow, std::size_t images) {
        if (!t_.relu && !has_bias()) return;
        kernels.bias_relu_backward({.gradient = flow.y_gradient,
                                    .y = t_.relu ? flow.y : nullptr,
                                    .to = t_.relu ? flow.y_gradient : nullptr,
                                    .bias_sums = bias_sums_.data(),
                                    .pixels = images * out_.pixels(),
                                    .channels = t_.channels});
    }

    /// weight_sums_[place] += Σ_tile inputᵀ · gradient, tiles in ascending order.
    void add_weight_gradient(const Kernels& kernels, const Flow& flow, std::size_t images) {
        input_tiles_.for_each_block(images, [&](std::size_t first, std::size_t lines) {
            input_tiles_.transform(kernels.winograd_inputs, flow.x, first, lines, input_block_);
            grad_tiles_.transform(kernels.winograd_gradients, flow.y_gradient, first, lines, grad_block_);
            for (std::size_t place = 0; place < kWinogradPlaces; ++place)
                kernels.gemm({.a = input_block_.at_place(place),
                              .a_row = 1,
                              .a_inner = stride_of(t_.in.channels),
                              .m = grad_block_.at_place(place),
                              .m_inner = stride_of(t_.channels),
                              .out = weight_sums_.data() + place * t_.in.channels * t_.channels,
                              .out_row = stride_of(t_.channels),
                              .rows = t_.in.channels,
                              .columns = t_.channels,
                              .outer = 1,
                              .inner = lines * input_tiles_.wide,
                              .add = true});
        });
    }

    ConvolutionTerms t_;
    Image out_;
    WinogradConvolver forward_, backward_;
    WinogradImages input_tiles_, grad_tiles_;  // of the weight gradient's two factors
    WinogradBlock input_block_, grad_block_;   // their transforms
    Floats taps_;                              // a kernel or its gradient: [taps][in][out]; flipped: [taps][out][in]
    Floats weight_sums_;                       // [kWinogradPlaces][in][out]
    Floats bias_sums_;                         // [out]
};

}  // namespace

bool uses_winograd(const ConvolutionTerms& t) {
    return t.kernel == 3 && t.stride == 1 && t.in.channels % kLaneCount == 0 && t.channels % kLaneCount == 0;
}

std::unique_ptr<Op> make_winograd_convolution(const ConvolutionTerms& terms) {
    return std::make_unique<WinogradConvolution>(terms);
}

}  // namespace fedhive::clients::direct
