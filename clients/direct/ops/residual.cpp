// Residual block: y = chain(x) + shortcut(x), then a ReLU if one is fused. An empty chain or shortcut is the identity.
#include "clients/direct/planner.h"

#include <algorithm>
#include <array>

namespace fedhive::clients::direct {

namespace {

class Residual final : public Op {
public:
    Residual(std::size_t inputs, std::size_t outputs, Chain chain, Chain shortcut, bool relu)
        : Op(inputs, outputs), chain_(std::move(chain)), shortcut_(std::move(shortcut)), relu_(relu) {}

    bool has_parameters() const override { return chain_.has_parameters() || shortcut_.has_parameters(); }
    bool mixes_examples() const override { return chain_.mixes_examples() || shortcut_.mixes_examples(); }
    void reserve(std::size_t examples, std::size_t group) override {
        for (Chain* each : both_) each->reserve(examples, group);
        y_beside_.resize(group * outputs());
        x_beside_.resize(shortcut_.empty() ? 0 : group * inputs());
    }
    void begin(const Pass& pass) override {
        for (Chain* each : both_) each->begin(pass);
    }
    void begin_backward(const Pass& pass) override {
        for (Chain* each : both_) each->begin_backward(pass);
    }
    void end_backward(const Pass& pass) override {
        for (Chain* each : both_) each->end_backward(pass);
    }
    void fused_parameters(std::vector<ParameterRange>& ranges) const override {
        for (const Chain* each : both_) each->fused_parameters(ranges);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        const float *within = chain_.forward(pass, x, rows), *beside = shortcut_.forward(pass, x, rows);
        pass.kernels->add(within, beside, y, rows.count * outputs(), relu_);
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        // Copied, since both chains need the sum's gradient and may overwrite it.
        const float* beside = y_beside_.data();
        if (relu_) pass.kernels->relu_gradient(flow.y, flow.y_gradient, flow.y_gradient, rows.count * outputs());
        std::copy_n(flow.y_gradient, rows.count * outputs(), y_beside_.data());
        chain_.backward(pass, flow.x, flow.y_gradient, flow.x_gradient, rows);
        if (!shortcut_.empty()) {
            float* to = flow.x_gradient == nullptr ? nullptr : x_beside_.data();
            shortcut_.backward(pass, flow.x, y_beside_.data(), to, rows);
            beside = to;
        }
        if (flow.x_gradient == nullptr) return;
        pass.kernels->add(flow.x_gradient, beside, flow.x_gradient, rows.count * inputs(), false);
    }

private:
    Chain chain_, shortcut_;
    bool relu_;
    std::array<Chain*, 2> both_{&chain_, &shortcut_};
    Floats y_beside_, x_beside_;  // gradients of the shortcut's output and input, [group][…]
};

}  // namespace

LayerOp residual_op() {
    return {.kind = LayerKind::Residual,
            .lacks = [](const PlannedLayer& layer) -> std::string_view {
                return layer.in.size() != layer.fit.out.size() ? "residual that turns images into rows" : "";
            },
            .make =
                [](const Making& m) {
                    const std::size_t inputs = size_of(m.layer.in), outputs = size_of(m.layer.fit.out);
                    Chain within(inputs), beside(inputs);
                    m.planner.append(within, m.layer.residual, m.pixels);
                    m.planner.append(beside, m.layer.shortcut, m.pixels);
                    const bool relu = m.is_relu_next();
                    return Made{std::make_unique<Residual>(inputs, outputs, std::move(within), std::move(beside), relu),
                                relu ? 1U : 0U};
                }};
}

}  // namespace fedhive::clients::direct
