// Fully connected layer, of an example's features or of those of each of its positions, with a fused ReLU.
#include "clients/direct/ops/dense.h"
#include "clients/direct/planner.h"

namespace fedhive::clients::direct {

namespace {

class Linear final : public Op {
public:
    /// positions: 0: the features are the example's
    Linear(std::size_t positions, std::size_t in, std::size_t out, bool relu, TensorOffsets place)
        : Op(std::max<std::size_t>(1, positions) * in, std::max<std::size_t>(1, positions) * out),
          positions_(positions),
          relu_(relu),
          dense_(in, out, place) {}

    bool has_parameters() const override { return true; }
    void begin(const Pass& pass) override {
        if (positions_ > 0) dense_.begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        if (positions_ > 0)
            dense_.forward_many(pass, x, y, rows.count * positions_);
        else
            dense_.forward(pass, x, y, rows.count);
        if (relu_) pass.kernels->relu(y, y, rows.count * outputs());
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const std::size_t count = rows.count * std::max<std::size_t>(1, positions_);
        dense_.finish_gradient(pass, relu_ ? flow.y : nullptr, flow.y_gradient, count);
        if (flow.x_gradient != nullptr) dense_.input_gradient(pass, flow.y_gradient, flow.x_gradient, count);
        const ProfileScope scope(pass, this, StepPhase::WeightGradient);
        dense_.weight_gradient(pass, flow.x, flow.y_gradient, count);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override { dense_.fused_parameters(ranges); }

private:
    std::size_t positions_;
    bool relu_;
    Dense dense_;
};

}  // namespace

LayerOp linear_op() {
    return {.kind = LayerKind::Linear, .make = [](const Making& m) {
                const bool relu = m.is_relu_next(), each = takes_sequence(m.layer);
                return Made{std::make_unique<Linear>(
                                each ? static_cast<std::size_t>(m.layer.in[0]) : 0, static_cast<std::size_t>(m.layer.in.back()),
                                static_cast<std::size_t>(m.layer.fit.out.back()), relu, m.planner.place_of(m.layer)),
                            relu ? 1U : 0U};
            }};
}

}  // namespace fedhive::clients::direct
