// Elementwise operations.
#include "clients/direct/planner.h"
#include "clients/direct/shared_rules.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class Relu final : public Op {
public:
    explicit Relu(std::size_t size) : Op(size, size) {}
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        pass.kernels->relu(x, y, rows.count * inputs());
    }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr)
            pass.kernels->relu_gradient(flow.y, flow.y_gradient, flow.x_gradient, rows.count * inputs());
    }
};

class Tanh final : public Op {
public:
    explicit Tanh(std::size_t size) : Op(size, size) {}
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        pass.kernels->tanh(x, y, rows.count * inputs());
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        for (std::size_t i = 0; i < rows.count * inputs(); ++i)
            flow.x_gradient[i] = flow.y_gradient[i] * (1.0F - flow.y[i] * flow.y[i]);
    }
};

class Gelu final : public Op {
public:
    explicit Gelu(std::size_t size) : Op(size, size) {}
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        pass.kernels->gelu(x, y, rows.count * inputs());
    }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr)
            pass.kernels->gelu_gradient(flow.x, flow.y_gradient, flow.x_gradient, rows.count * inputs());
    }
};

class Scale final : public Op {
public:
    Scale(std::size_t size, double by) : Op(size, size), by_(static_cast<float>(by)) {}
    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override { multiply(x, y, rows); }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr) multiply(flow.y_gradient, flow.x_gradient, rows);
    }

private:
    void multiply(const float* x, float* y, ExampleRange rows) const {
        for (std::size_t i = 0; i < rows.count * inputs(); ++i) y[i] = x[i] * by_;
    }
    float by_;
};

class Dropout final : public Op {
public:
    Dropout(std::size_t size, Drop drop) : Op(size, size), drop_(drop) {}
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override { apply(pass, x, y, rows); }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr) apply(pass, flow.y_gradient, flow.x_gradient, rows);
    }

private:
    void apply(const Pass& pass, const float* x, float* y, ExampleRange rows) const {
        if (pass.training)
            drop_values(pass, x, y, rows.count * inputs(), drop_, rows.first * inputs());
        else
            std::copy_n(x, rows.count * inputs(), y);
    }
    Drop drop_;
};

class ChannelDropout final : public Op {
public:
    ChannelDropout(const Image& in, Drop drop) : Op(in.size(), in.size()), in_(in), drop_(drop) {
        ones_.assign(in.channels, 1.0F);
        scale_.resize(in.channels);
    }
    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override { apply(pass, x, y, rows); }
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr) apply(pass, flow.y_gradient, flow.x_gradient, rows);
    }

private:
    void apply(const Pass& pass, const float* x, float* y, ExampleRange rows) {
        if (!pass.training) {
            std::copy_n(x, rows.count * inputs(), y);
            return;
        }
        for (std::size_t r = 0; r < rows.count; ++r) {
            drop_values(pass, ones_.data(), scale_.data(), in_.channels, drop_, (rows.first + r) * in_.channels);
            for (std::size_t p = 0; p < in_.pixels(); ++p)
                for (std::size_t c = 0; c < in_.channels; ++c, ++x, ++y) *y = *x * scale_[c];
        }
    }
    Image in_;
    Drop drop_;
    Floats ones_, scale_;
};

}  // namespace

void drop_values(const Pass& pass, const float* x, float* y, std::size_t size, Drop drop, std::size_t first) {
    pass.kernels->dropout(x, y, size, shared::dropout_key(pass.dropout_key, drop.number), static_cast<std::uint32_t>(first),
                          shared::dropout_threshold(drop.p), shared::dropout_scale(drop.p));
}

LayerOp relu_op() {
    return {.kind = LayerKind::Relu, .make = [](const Making& m) { return Made{std::make_unique<Relu>(size_of(m.layer.in))}; }};
}

LayerOp tanh_op() {
    return {.kind = LayerKind::Tanh, .make = [](const Making& m) { return Made{std::make_unique<Tanh>(size_of(m.layer.in))}; }};
}

LayerOp gelu_op() {
    return {.kind = LayerKind::Gelu, .make = [](const Making& m) { return Made{std::make_unique<Gelu>(size_of(m.layer.in))}; }};
}

LayerOp scale_op() {
    return {.kind = LayerKind::Scale, .make = [](const Making& m) {
                return Made{std::make_unique<Scale>(size_of(m.layer.in), m.layer.arguments.number("by"))};
            }};
}

LayerOp dropout_op() {
    return {.kind = LayerKind::Dropout, .make = [](const Making& m) {
                return Made{std::make_unique<Dropout>(size_of(m.layer.in), m.planner.next_drop(m.layer))};
            }};
}

LayerOp dropout2d_op() {
    return {.kind = LayerKind::Dropout2d, .make = [](const Making& m) {
                return Made{std::make_unique<ChannelDropout>(image_of(m.layer.in), m.planner.next_drop(m.layer))};
            }};
}

}  // namespace fedhive::clients::direct
