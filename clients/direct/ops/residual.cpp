// Residual block: y = chain(x) + shortcut(x), then a ReLU if one is fused. An empty chain or shortcut is the identity.
#include "clients/direct/ops/linear.h"

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

/// A linear layer, and on the other path two without bias, perhaps scaled: the first with low-rank factors. Null for other paths.
std::unique_ptr<Op> as_linear(const Making& m, std::span<const PlannedLayer> path, std::span<const PlannedLayer> factors,
                              bool relu) {
    const auto is_linear = [](const PlannedLayer& layer, bool plain) {
        return layer.kind == LayerKind::Linear && low_rank_terms(layer.arguments).rank == 0 &&
               !(plain && layer.arguments.flag("bias"));
    };
    const bool scaled = factors.size() == 3 && factors[2].kind == LayerKind::Scale;
    if (path.size() != 1 || !is_linear(path[0], false) || (factors.size() != 2 && !scaled) || !is_linear(factors[0], true) ||
        !is_linear(factors[1], true))
        return nullptr;
    const auto last = [](const Shape& shape) { return static_cast<std::size_t>(shape.back()); };
    return make_linear(m.planner, path[0], relu,
                       LowRank(last(m.layer.in), last(m.layer.fit.out), last(factors[0].fit.out),
                               scaled ? factors[2].arguments.number("by") : 1.0, m.planner.place_of(factors[0], "weight"),
                               m.planner.place_of(factors[1], "weight")));
}

}  // namespace

LayerOp residual_op() {
    return {.kind = LayerKind::Residual,
            .lacks = [](const PlannedLayer& layer) -> std::string_view {
                return layer.in.size() != layer.fit.out.size() ? "residual that turns images into rows" : "";
            },
            .make =
                [](const Making& m) {
                    const std::size_t inputs = size_of(m.layer.in), outputs = size_of(m.layer.fit.out);
                    const bool relu = m.is_relu_next();
                    for (const auto& [path, factors] :
                         {std::pair(&m.layer.residual, &m.layer.shortcut), std::pair(&m.layer.shortcut, &m.layer.residual)})
                        if (auto linear = as_linear(m, *path, *factors, relu)) return Made{std::move(linear), relu ? 1U : 0U};
                    Chain within(inputs), beside(inputs);
                    m.planner.append(within, m.layer.residual, m.pixels);
                    m.planner.append(beside, m.layer.shortcut, m.pixels);
                    return Made{std::make_unique<Residual>(inputs, outputs, std::move(within), std::move(beside), relu),
                                relu ? 1U : 0U};
                }};
}

}  // namespace fedhive::clients::direct
