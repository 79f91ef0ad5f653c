// A 3 × 3 convolution without a fused pool: forward, input gradient and weight gradient by Winograd.
#include "aggregation/base/error.h"
#include "clients/direct/ops/winograd.h"

namespace fedhive::clients::direct {

namespace {

class WinogradConvolution final : public Op {
public:
    explicit WinogradConvolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          out_(t.out()),
          memory_(t.memory != nullptr ? t.memory : std::make_shared<WinogradMemory>()),
          forward_(t.in, t.padding, out_, memory_, own_or_shared()),
          backward_(out_, 2 - t.padding, t.in, memory_, own_or_shared(), true),
          input_tiles_(WinogradImages::under(t.in, t.padding, out_, t.in.channels, t.channels)),
          grad_tiles_(WinogradImages::under(out_, 0, out_, t.in.channels, t.channels)),
          input_block_(input_tiles_.at_once() * input_tiles_.wide, t.in.channels, memory_, 0),
          grad_block_(input_tiles_.at_once() * input_tiles_.wide, t.channels, memory_, 1),
          sums_holder_(own_or_shared()),
          weight_sums_(sums_holder_, sums_holder_->weights, kWinogradPlaces * t.in.channels * t.channels),
          bias_sums_(t.channels) {}

    bool has_parameters() const override { return true; }

    void begin(const Pass& pass) override {
        forward_.drop_weights();
        if (!t_.whole_batch) forward_.take_weights(*pass.kernels, pass.values(t_.place.weight));
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        if (!forward_.has_weights()) forward_.take_weights(*pass.kernels, pass.values(t_.place.weight));
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
        has_sums_ = false;
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        if (!t_.whole_batch) backward_.take_weights(*pass.kernels, pass.values(t_.place.weight));
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        {
            const ProfileScope scope(pass, this, StepPhase::WeightGradient);
            finish_gradient(*pass.kernels, flow, rows.count);
            FEDHIVE_CHECK(!t_.whole_batch || !has_sums_, "a convolution of the whole batch gets a second part of it");
            if (!is_frozen(t_.place.weight)) add_weight_gradient(*pass.kernels, flow, rows.count);
            if (t_.whole_batch) write_weight_gradient(pass);
        }
        if (flow.x_gradient == nullptr) return;
        if (t_.whole_batch) backward_.take_weights(*pass.kernels, pass.values(t_.place.weight));
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
        if (!t_.whole_batch) write_weight_gradient(pass);
    }

private:
    bool has_bias() const { return t_.place.bias != TensorOffsets::kNone; }

    /// What holds transformed weights or their gradient: memory of its own, unless its passes get the whole batch at once.
    std::shared_ptr<WinogradMemory> own_or_shared() const {
        return t_.whole_batch ? memory_ : std::make_shared<WinogradMemory>();
    }

    void write_weight_gradient(const Pass& pass) {
        float* to = pass.gradient_of(t_.place.weight);
        if (to == nullptr) return;
        const std::size_t in = t_.in.channels, out = t_.channels;
        const WeightBlocks blocks{in, out};
        alignas(64) float taps[WeightBlocks::kSize];
        for (std::size_t o = 0; o < out; o += WeightBlocks::kSide)
            for (std::size_t i = 0; i < in; i += WeightBlocks::kSide) {
                pass.kernels->winograd_weight_gradient({.from = weight_sums_.data() + i * out + o,
                                                        .from_plane = stride_of(in * out),
                                                        .from_row = stride_of(out),
                                                        .to = taps,
                                                        .to_plane = WeightBlocks::kSide * WeightBlocks::kSide,
                                                        .to_row = WeightBlocks::kSide,
                                                        .rows = WeightBlocks::kSide});
                blocks.for_each(i, o, false, [&](std::size_t at, std::size_t weight) { to[weight] = taps[at]; });
            }
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
        sums_holder_->owner = nullptr;
        input_tiles_.for_each_block(images, [&](std::size_t first, std::size_t lines) {
            input_tiles_.transform(kernels.winograd_inputs, flow.x, first, lines, input_block_);
            grad_tiles_.transform(kernels.winograd_gradients, flow.y_gradient, first, lines, grad_block_);
            kernels.gemm({.a = input_block_.values.data(),
                          .a_row = 1,
                          .a_inner = stride_of(t_.in.channels),
                          .m = grad_block_.values.data(),
                          .m_inner = stride_of(t_.channels),
                          .out = weight_sums_.data(),
                          .out_row = stride_of(t_.channels),
                          .rows = t_.in.channels,
                          .columns = t_.channels,
                          .outer = 1,
                          .inner = lines * input_tiles_.wide,
                          .add = has_sums_,
                          .products = kWinogradPlaces,
                          .a_next = stride_of(input_block_.place),
                          .m_next = stride_of(grad_block_.place),
                          .out_next = stride_of(t_.in.channels * t_.channels)});
            has_sums_ = true;
        });
    }

    ConvolutionTerms t_;
    Image out_;
    std::shared_ptr<WinogradMemory> memory_;
    WinogradConvolver forward_, backward_;
    WinogradImages input_tiles_, grad_tiles_;  // of the weight gradient's two factors
    WinogradBlock input_block_, grad_block_;   // their transforms
    std::shared_ptr<WinogradMemory> sums_holder_;
    WinogradFloats weight_sums_;  // [kWinogradPlaces][in][out]
    bool has_sums_ = false;       // weight_sums_ hold sums of this batch
    Floats bias_sums_;            // [out]
};

}  // namespace

bool uses_winograd(const ConvolutionTerms& t) {
    return t.kernel == 3 && t.stride == 1 && t.in.channels % kLaneCount == 0 && t.channels % kLaneCount == 0;
}

std::unique_ptr<Op> make_winograd_convolution(const ConvolutionTerms& terms) {
    return std::make_unique<WinogradConvolution>(terms);
}

}  // namespace fedhive::clients::direct
