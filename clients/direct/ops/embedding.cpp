// Embedding: y[position] = table[token[position]]. A row's gradient is the sum over its tokens' output gradients, in the order
// of examples and positions.
#include "aggregation/base/error.h"
#include "clients/direct/planner.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

/// Token ids, whole numbers below `tokens`, to [positions][dim]. Only as the first operation of a network.
class Embedding final : public Op {
public:
    Embedding(std::size_t positions, std::size_t tokens, std::size_t dim, std::size_t weight)
        : Op(positions, positions * dim), tokens_(tokens), dim_(dim), weight_(weight) {}

    bool has_parameters() const override { return true; }

    /// Throws Fault for a token without a row in the table.
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        const float* table = pass.values(weight_);
        for (std::size_t i = 0; i < rows.count * inputs(); ++i) {
            FEDHIVE_CHECK(x[i] >= 0.0F && x[i] < static_cast<float>(tokens_), "token {} of {}", x[i], tokens_);
            std::copy_n(table + row(x[i]), dim_, y + i * dim_);
        }
    }

    /// Writes no x_gradient: tokens are not differentiable, and no operation precedes this one.
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const ProfileScope scope(pass, this, StepPhase::WeightGradient);
        float* table = pass.gradient_of(weight_);
        if (table == nullptr) return;
        std::fill_n(table, tokens_ * dim_, 0.0F);
        for (std::size_t i = 0; i < rows.count * inputs(); ++i) {
            float* to = table + row(flow.x[i]);
            pass.kernels->add(to, flow.y_gradient + i * dim_, to, dim_, false);
        }
    }

private:
    std::size_t row(float token) const { return static_cast<std::size_t>(token) * dim_; }

    std::size_t tokens_, dim_, weight_;
};

}  // namespace

LayerOp embedding_op() {
    return {.kind = LayerKind::Embedding, .make = [](const Making& m) {
                const auto tokens = static_cast<std::size_t>(*m.layer.arguments.optional_integer("tokens"));
                return Made{std::make_unique<Embedding>(size_of(m.layer.in), tokens, argument(m.layer, "dim"),
                                                        m.planner.place_of(m.layer).weight)};
            }};
}

}  // namespace fedhive::clients::direct
