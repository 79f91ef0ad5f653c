// Convolution + bias + dropout + ReLU + 2 × 2 max pool. After the pool at least 3/4 of the output gradient is zero, so
// backward walks lists of the nonzeros. Shape and kernels choose the form of the forward pass and of the weight gradient.
#include "clients/direct/ops/pooled_forward.h"
#include "clients/direct/ops/pooled_weight_gradient.h"
#include "clients/direct/ops/sparse_gradient.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

std::unique_ptr<PooledForward> choose_forward(const ConvolutionTerms& t, const Kernels& kernels) {
    if (uses_winograd(t)) return pooled_by_winograd(t);
    return kernels.prefers_pixel_lanes && fills_pixels(t) ? pooled_by_pixels(t) : pooled_by_lines(t);
}

std::unique_ptr<PooledWeightGradient> choose_weight_gradient(const ConvolutionTerms& t, const Kernels& kernels) {
    return kernels.prefers_pixel_lanes && fits_single_channel(t) ? single_channel_weight_gradient(t)
                                                                 : sparse_weight_gradient(t);
}

class PooledConvolution final : public Op {
public:
    PooledConvolution(const ConvolutionTerms& t, const Kernels& kernels)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          weights_(t),
          bias_(t),
          forward_(choose_forward(t, kernels)),
          weight_gradient_(choose_weight_gradient(t, kernels)),
          input_gradient_(t),
          ones_(t.channels, 1.0F) {}

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t group) override {
        argmax_.resize(examples * outputs());
        if (t_.drop.p > 0.0) scale_.resize(examples * t_.channels);
        weight_gradient_->reserve(group);
    }

    void begin(const Pass& pass) override {
        weights_.take(pass.values(t_.place.weight));
        forward_->begin(*pass.kernels, pass.values(t_.place.weight));
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        const std::size_t first = rows.first * t_.channels;
        if (scales(pass))
            for (std::size_t c = first; c < first + rows.count * t_.channels; c += t_.channels)
                drop_values(pass, ones_.data(), scale_.data() + c, t_.channels, t_.drop, c);
        forward_->run(*pass.kernels, weights_,
                      {.x = x,
                       .bias = bias_.of(pass),
                       .scale = scales(pass) ? scale_.data() + first : nullptr,
                       .y = y,
                       .argmax = argmax_.data() + rows.first * outputs(),
                       .count = rows.count});
    }

    void begin_backward(const Pass& pass) override {
        weight_gradient_->begin();
        input_gradient_.take_weights(pass.values(t_.place.weight));
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) {
            float* gradient = flow.y_gradient + r * outputs();
            const std::uint8_t* argmax = argmax_.data() + (rows.first + r) * outputs();
            if (scales(pass)) scale_gradient(gradient, scale_.data() + (rows.first + r) * t_.channels);
            if (is_trained()) {
                const ProfileScope scope(pass, this, StepPhase::WeightGradient);
                weight_gradient_->take(*pass.kernels, flow.x, gradient, argmax, r);
            }
            if (flow.x_gradient != nullptr)
                input_gradient_.run(*pass.kernels, gradient, argmax, flow.x_gradient + r * inputs());
        }
        if (!is_trained()) return;
        const ProfileScope scope(pass, this, StepPhase::WeightGradient);
        weight_gradient_->end_group(*pass.kernels, flow.x);
    }

    void end_backward(const Pass& pass) override {
        if (float* to = pass.gradient_of(t_.place.weight)) weight_gradient_->write(to);
        bias_.write_gradient(pass, weight_gradient_->bias_sums());
    }

private:
    bool scales(const Pass& pass) const { return t_.drop.p > 0.0 && pass.training; }

    void scale_gradient(float* gradient, const float* scale) const {
        for (std::size_t p = 0; p < outputs(); p += t_.channels)
            for (std::size_t c = 0; c < t_.channels; ++c) gradient[p + c] *= scale[c];
    }

    ConvolutionTerms t_;
    ForwardWeights weights_;
    BiasOrZeros bias_;
    std::unique_ptr<PooledForward> forward_;
    std::unique_ptr<PooledWeightGradient> weight_gradient_;
    SparseInputGradient input_gradient_;
    Floats scale_, ones_;               // dropout's factors, [examples][channels]; [channels]
    std::vector<std::uint8_t> argmax_;  // [examples][out]
};

}  // namespace

std::unique_ptr<Op> make_pooled_convolution(const ConvolutionTerms& terms, const Kernels& kernels) {
    return std::make_unique<PooledConvolution>(terms, kernels);
}

}  // namespace fedhive::clients::direct
