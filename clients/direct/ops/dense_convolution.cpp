// Convolution + bias + ReLU by implicit GEMM. SIMD lanes: forward over output channels; weight gradient over one kernel row or
// the output channels; input gradient over input channels.
#include "clients/direct/ops/convolution_back.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class DenseConvolution final : public Op {
public:
    explicit DenseConvolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          sizes_(t),
          padded_(t),
          weights_(t),
          bias_(t),
          back_(t),
          line_(sizes_.out.width * sizes_.out_lanes),
          weight_sums_(t.channels * sizes_.of_output),
          bias_sums_(t.channels) {}

    bool has_parameters() const override { return true; }

    void begin(const Pass& pass) override { weights_.take(pass.values(t_.place.weight)); }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) forward_image(pass, padded_.pad(x + r * inputs()), y + r * outputs());
    }

    void begin_backward(const Pass& pass) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        back_.flip_weights(pass.values(t_.place.weight));
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) {
            {
                const ProfileScope scope(pass, this, StepPhase::WeightGradient);
                back_.take(*pass.kernels, flow.y + r * outputs(), flow.y_gradient + r * outputs(), bias_sums_.data());
                if (!is_frozen(t_.place.weight))
                    back_.add_weight_gradient(*pass.kernels, padded_.pad(flow.x + r * inputs()), weight_sums_.data());
            }
            if (flow.x_gradient != nullptr) back_.input_gradient(*pass.kernels, flow.x_gradient + r * inputs());
        }
    }

    void end_backward(const Pass& pass) override {
        if (float* to = pass.gradient_of(t_.place.weight))
            for_each_weight(t_, [&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
                to[place] = weight_sums_[back_.place_of_sum(tap, in, out)];
            });
        bias_.write_gradient(pass, bias_sums_);
    }

private:
    void forward_image(const Pass& pass, const float* x, float* y) {
        // Without bias, ReLU and padding lanes the sums are the output: write them there at once.
        const bool finished = !bias_.there() && !t_.relu && sizes_.out_lanes == t_.channels;
        const std::size_t pixels = sizes_.out.width;
        for (std::size_t i = 0; i < sizes_.out.height; ++i) {
            float* to = y + i * pixels * t_.channels;
            convolve_line(*pass.kernels, t_, sizes_, weights_, x, i, pixels, finished ? to : line_.data());
            if (finished) continue;
            pass.kernels->bias_relu({.x = line_.data(),
                                     .bias = bias_.of(pass),
                                     .y = to,
                                     .pixels = pixels,
                                     .channels = t_.channels,
                                     .padded = sizes_.out_lanes,
                                     .relu = t_.relu});
        }
    }

    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    PaddedImages padded_;
    ForwardWeights weights_;
    BiasOrZeros bias_;
    ConvolutionBack back_;
    Floats line_;         // one line of the convolution
    Floats weight_sums_;  // as back_ has them
    Floats bias_sums_;    // [out]
};

}  // namespace

std::unique_ptr<Op> make_dense_convolution(const ConvolutionTerms& terms) { return std::make_unique<DenseConvolution>(terms); }

}  // namespace fedhive::clients::direct
