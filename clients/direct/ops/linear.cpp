// Fully connected layer, of an example's features or of those of each of its positions, with low-rank factors and a fused ReLU.
#include "clients/direct/ops/linear.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class Linear final : public Op {
public:
    /// positions: 0: the features are the example's
    Linear(std::size_t positions, bool relu, Dense dense, std::optional<LowRank> factors)
        : Op(std::max<std::size_t>(1, positions) * dense.in(), std::max<std::size_t>(1, positions) * dense.out()),
          positions_(positions),
          relu_(relu),
          dense_(std::move(dense)),
          factors_(std::move(factors)) {}

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t) override {
        if (factors_) factors_->reserve(rows_of(examples));
    }
    void begin(const Pass& pass) override {
        if (positions_ > 0) dense_.begin(pass);
        if (factors_) factors_->begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        if (positions_ > 0)
            dense_.forward_many(pass, x, y, rows_of(rows.count));
        else
            dense_.forward(pass, x, y, rows.count);
        if (factors_) factors_->forward(pass, x, y, rows_of(rows.count));
        if (relu_) pass.kernels->relu(y, y, rows.count * outputs());
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const std::size_t count = rows_of(rows.count);
        dense_.finish_gradient(pass, relu_ ? flow.y : nullptr, flow.y_gradient, count);
        if (flow.x_gradient != nullptr) dense_.input_gradient(pass, flow.y_gradient, flow.x_gradient, count);
        if (factors_) factors_->backward(pass, this, flow.x, flow.y_gradient, flow.x_gradient, count);
        const ProfileScope scope(pass, this, StepPhase::WeightGradient);
        dense_.weight_gradient(pass, flow.x, flow.y_gradient, count);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override {
        dense_.fused_parameters(ranges);
        if (factors_) factors_->fused_parameters(ranges);
    }

private:
    std::size_t rows_of(std::size_t examples) const { return examples * std::max<std::size_t>(1, positions_); }

    std::size_t positions_;
    bool relu_;
    Dense dense_;
    std::optional<LowRank> factors_;
};

}  // namespace

std::unique_ptr<Op> make_linear(const Planner& planner, const PlannedLayer& layer, bool relu, std::optional<LowRank> factors) {
    const auto in = static_cast<std::size_t>(layer.in.back()), out = static_cast<std::size_t>(layer.fit.out.back());
    const std::size_t positions = takes_sequence(layer) ? static_cast<std::size_t>(layer.in[0]) : 0;
    return std::make_unique<Linear>(positions, relu, Dense(in, out, planner.place_of(layer)), std::move(factors));
}

LayerOp linear_op() {
    return {.kind = LayerKind::Linear, .make = [](const Making& m) {
                const bool relu = m.is_relu_next();
                const auto in = static_cast<std::size_t>(m.layer.in.back()),
                           out = static_cast<std::size_t>(m.layer.fit.out.back());
                return Made{make_linear(m.planner, m.layer, relu, low_rank_of(m, "", in, out)), relu ? 1U : 0U};
            }};
}

}  // namespace fedhive::clients::direct
