// Fully connected layer: y = x · wᵀ + b. Forward by dot products, backward by Gemm; weights stay in PyTorch's order [out][in].
#include "clients/direct/planner.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class Linear final : public Op {
public:
    Linear(std::size_t inputs, std::size_t outputs, bool relu, Place place) : Op(inputs, outputs), relu_(relu), place_(place) {}

    bool has_parameters() const override { return true; }
    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        pass.kernels->dot({.x = x,
                           .x_row = static_cast<Stride>(inputs()),
                           .w = pass.values(place_.weight),
                           .w_row = static_cast<Stride>(inputs()),
                           .bias = pass.values(place_.bias),
                           .y = y,
                           .y_row = static_cast<Stride>(outputs()),
                           .rows = rows.count,
                           .outputs = outputs(),
                           .length = inputs()});
        if (relu_) pass.kernels->relu(y, y, rows.count * outputs());
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        float* bias_gradient = pass.gradient_of(place_.bias);
        if (bias_gradient == nullptr) {
            unwanted_.resize(outputs());
            bias_gradient = unwanted_.data();
        }
        std::fill_n(bias_gradient, outputs(), 0.0F);
        if (relu_ || !is_frozen(place_.bias))
            pass.kernels->bias_relu_backward({.gradient = flow.y_gradient,
                                              .y = relu_ ? flow.y : nullptr,
                                              .to = relu_ ? flow.y_gradient : nullptr,
                                              .bias_sums = bias_gradient,
                                              .pixels = rows.count,
                                              .channels = outputs()});
        const auto in = static_cast<Stride>(inputs()), out = static_cast<Stride>(outputs());
        if (flow.x_gradient != nullptr)
            pass.kernels->gemm({.a = flow.y_gradient,
                                .a_row = out,
                                .a_outer = 0,
                                .a_inner = 1,
                                .m = pass.values(place_.weight),
                                .m_outer = 0,
                                .m_inner = in,
                                .out = flow.x_gradient,
                                .out_row = in,
                                .rows = rows.count,
                                .columns = inputs(),
                                .outer = 1,
                                .inner = outputs()});
        if (is_frozen(place_.weight)) return;
        const ProfileScope scope(pass, this, Part::WeightGradient);
        if (pass.descent != nullptr)
            descend(pass, flow, rows);
        else
            pass.kernels->gemm(
                weight_gradient(flow, rows, {0, outputs()}, {0, inputs()}, pass.gradient_of(place_.weight), inputs()));
    }

    void fused_parameters(std::vector<Range>& ranges) const override {
        if (!is_frozen(place_.weight)) ranges.push_back({place_.weight, inputs() * outputs()});
    }

private:
    /// dw[o][i] = Σ_r dy[r][o] · x[r][i] for some outputs and inputs, to `to` with `row` floats per output.
    Gemm weight_gradient(const Flow& flow, Rows rows, Range of_outputs, Range of_inputs, float* to, std::size_t row) const {
        return {.a = flow.y_gradient + of_outputs.first,
                .a_row = 1,
                .a_outer = 0,
                .a_inner = static_cast<Stride>(outputs()),
                .m = flow.x + of_inputs.first,
                .m_outer = 0,
                .m_inner = static_cast<Stride>(inputs()),
                .out = to,
                .out_row = static_cast<Stride>(row),
                .rows = of_outputs.size,
                .columns = of_inputs.size,
                .outer = 1,
                .inner = rows.count};
    }

    /// Steps the weights without a gradient in memory: there are many, and each is used once per step. Plain SGD: the gradient
    /// stays in registers. Optimizers with state: it is computed block by block and stays in the L1 cache.
    void descend(const Pass& pass, const Flow& flow, Rows rows) {
        const Descent& descent = *pass.descent;
        if (const aggregation::SgdOptions* sgd = descent.optimizer->plain_sgd()) {
            Gemm update =
                weight_gradient(flow, rows, {0, outputs()}, {0, inputs()}, descent.parameters + place_.weight, inputs());
            update.descend = true;
            update.from = descent.before() + place_.weight;
            update.rate = sgd->lr;
            update.decay = sgd->weight_decay;
            return pass.kernels->gemm(update);
        }
        constexpr std::size_t kOutputs = 12, kInputs = 1024;
        block_.resize(kOutputs * kInputs);
        for (std::size_t o = 0; o < outputs(); o += kOutputs)
            for (std::size_t i = 0; i < inputs(); i += kInputs) {
                const Range of_outputs{o, std::min(kOutputs, outputs() - o)}, of_inputs{i, std::min(kInputs, inputs() - i)};
                pass.kernels->gemm(weight_gradient(flow, rows, of_outputs, of_inputs, block_.data(), of_inputs.size));
                for (std::size_t r = 0; r < of_outputs.size; ++r) {
                    const std::size_t at = place_.weight + (o + r) * inputs() + i;
                    step(descent, {at, of_inputs.size}, block_.data() + r * of_inputs.size);
                }
            }
    }

    bool relu_;
    Place place_;
    Floats block_, unwanted_;  // unwanted_: a frozen bias's gradient
};

}  // namespace

LayerOp linear_op() {
    return {.kind = LayerKind::Linear,
            .lacks = [](const PlannedLayer& layer) -> std::string_view {
                return takes_sequence(layer) ? "linear at each position" : "";
            },
            .make =
                [](const Making& m) {
                    const bool relu = m.is_relu_next();
                    return Made{std::make_unique<Linear>(size_of(m.layer.in), size_of(m.layer.fit.out), relu,
                                                         m.planner.place_of(m.layer)),
                                relu ? 1U : 0U};
                }};
}

}  // namespace fedhive::clients::direct
