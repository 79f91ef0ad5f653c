// Layers on sequences besides linear and attention: position embedding, layer norm of each position, the last position, the mean of all.
#include "clients/direct/planner.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

/// Adds a table, [positions][features], to each example.
class Position final : public Op {
public:
    Position(std::size_t size, std::size_t weight) : Op(size, size), weight_(weight) {}
    bool has_parameters() const override { return true; }
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r)
            pass.kernels->add(x + r * inputs(), pass.values(weight_), y + r * inputs(), inputs(), false);
    }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr) std::copy_n(flow.y_gradient, rows.count * inputs(), flow.x_gradient);
        float* table = pass.gradient_of(weight_);
        if (table == nullptr) return;
        const ProfileScope scope(pass, this, StepPhase::WeightGradient);
        std::fill_n(table, inputs(), 0.0F);
        pass.kernels->bias_relu_backward(
            {.gradient = flow.y_gradient, .bias_sums = table, .pixels = rows.count, .channels = inputs()});
    }

private:
    std::size_t weight_;
};

/// Layer norm of the features of each position, with one scale and shift for all.
class PositionNorm final : public Op {
public:
    PositionNorm(std::size_t positions, std::size_t features, TensorOffsets place)
        : Op(positions * features, positions * features),
          positions_(positions),
          features_(features),
          place_(place),
          weight_sums_(features),
          bias_sums_(features) {}
    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t) override {
        mean_.resize(examples * positions_);
        inverse_.resize(examples * positions_);
    }
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        pass.kernels->row_norm({.x = x,
                                .weight = pass.values(place_.weight),
                                .bias = pass.values(place_.bias),
                                .y = y,
                                .mean = mean_.data() + rows.first * positions_,
                                .inverse = inverse_.data() + rows.first * positions_,
                                .rows = rows.count * positions_,
                                .features = features_});
    }
    void begin_backward(const Pass&) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
    }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        pass.kernels->row_norm_back({.x = flow.x,
                                     .gradient = flow.y_gradient,
                                     .weight = pass.values(place_.weight),
                                     .mean = mean_.data() + rows.first * positions_,
                                     .inverse = inverse_.data() + rows.first * positions_,
                                     .weight_sums = weight_sums_.data(),
                                     .bias_sums = bias_sums_.data(),
                                     .x_gradient = flow.x_gradient,
                                     .rows = rows.count * positions_,
                                     .features = features_});
    }
    void end_backward(const Pass& pass) override {
        if (float* to = pass.gradient_of(place_.weight)) std::copy(weight_sums_.begin(), weight_sums_.end(), to);
        if (float* to = pass.gradient_of(place_.bias)) std::copy(bias_sums_.begin(), bias_sums_.end(), to);
    }

private:
    std::size_t positions_, features_;
    TensorOffsets place_;
    Floats mean_, inverse_;           // [examples][positions]
    Floats weight_sums_, bias_sums_;  // [features]
};

class LastPosition final : public Op {
public:
    LastPosition(std::size_t inputs, std::size_t features) : Op(inputs, features) {}
    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) std::copy_n(last(x, r), outputs(), y + r * outputs());
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        std::fill_n(flow.x_gradient, rows.count * inputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r)
            std::copy_n(flow.y_gradient + r * outputs(), outputs(), last(flow.x_gradient, r));
    }

private:
    template <typename Float>
    Float* last(Float* x, std::size_t r) const {
        return x + (r + 1) * inputs() - outputs();
    }
};

/// The mean of each feature over the positions.
class Mean final : public Op {
public:
    Mean(std::size_t positions, std::size_t features)
        : Op(positions * features, features), positions_(positions), share_(1.0F / static_cast<float>(positions)) {}
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        std::fill_n(y, rows.count * outputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r)  // a sum over positions, as the bias's gradient is one over pixels
            pass.kernels->bias_relu_backward(
                {.gradient = x + r * inputs(), .bias_sums = y + r * outputs(), .pixels = positions_, .channels = outputs()});
        for (std::size_t i = 0; i < rows.count * outputs(); ++i) y[i] *= share_;
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t i = 0; i < inputs(); i += outputs())
                for (std::size_t f = 0; f < outputs(); ++f)
                    flow.x_gradient[r * inputs() + i + f] = flow.y_gradient[r * outputs() + f] * share_;
    }

private:
    std::size_t positions_;
    float share_;
};

}  // namespace

LayerOp position_op() {
    return {.kind = LayerKind::Position, .make = [](const Making& m) {
                return Made{std::make_unique<Position>(size_of(m.layer.in), m.planner.place_of(m.layer, "weight"))};
            }};
}

LayerOp last_position_op() {
    return {.kind = LayerKind::LastPosition, .make = [](const Making& m) {
                return Made{std::make_unique<LastPosition>(size_of(m.layer.in), size_of(m.layer.fit.out))};
            }};
}

LayerOp mean_op() {
    return {.kind = LayerKind::Mean, .make = [](const Making& m) {
                return Made{std::make_unique<Mean>(static_cast<std::size_t>(m.layer.in[0]), size_of(m.layer.fit.out))};
            }};
}

std::unique_ptr<Op> make_position_norm(std::size_t positions, std::size_t features, TensorOffsets place) {
    return std::make_unique<PositionNorm>(positions, features, place);
}

}  // namespace fedhive::clients::direct
