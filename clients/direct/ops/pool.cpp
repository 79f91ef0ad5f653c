// Max and average pools of any size, stride and padding that are not fused with a convolution. A rest at the edge is dropped.
#include "clients/direct/planner.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

/// Windows of height × width pixels. Padding has no values.
struct PoolTerms {
    std::size_t height = 1, width = 1, stride_down = 1, stride_across = 1, padding = 0;

    bool overlap() const { return stride_down < height || stride_across < width; }
};

PoolTerms pool_terms(const PlannedLayer& layer) {
    const PoolWindows windows = windows_of(layer.arguments);
    const Image in = image_of(layer.in);
    if (windows.size == 0) return {in.height, in.width, in.height, in.width, 0};
    const auto size = static_cast<std::size_t>(windows.size), stride = static_cast<std::size_t>(windows.stride);
    return {size, size, stride, stride, static_cast<std::size_t>(windows.padding)};
}

class Pool : public Op {
public:
    Pool(const Image& in, const Image& out, const PoolTerms& terms)
        : Op(in.size(), out.size()), in_(in), out_(out), t_(terms) {}

protected:
    /// visit(output index, input index) for each value of each window, in the image's order.
    template <typename Visit>
    void for_each(const Visit& visit) const {
        std::size_t to = 0;
        for (std::size_t i = 0; i < out_.height; ++i)
            for (std::size_t j = 0; j < out_.width; ++j, to += in_.channels)
                for (std::size_t k = 0; k < t_.height * t_.width; ++k) {
                    // Above or left of the image a number wraps and is beyond its other edge.
                    const std::size_t line = i * t_.stride_down + k / t_.width - t_.padding,
                                      pixel = j * t_.stride_across + k % t_.width - t_.padding;
                    if (line >= in_.height || pixel >= in_.width) continue;
                    const std::size_t from = line * in_.width + pixel;
                    for (std::size_t c = 0; c < in_.channels; ++c) visit(to + c, from * in_.channels + c);
                }
    }
    float share() const { return 1.0F / static_cast<float>(t_.height * t_.width); }

    Image in_, out_;
    PoolTerms t_;
};

class AveragePool final : public Pool {
public:
    using Pool::Pool;
    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override {
        std::fill_n(y, rows.count * outputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r)
            for_each([&](std::size_t to, std::size_t from) { y[r * outputs() + to] += x[r * inputs() + from]; });
        for (std::size_t i = 0; i < rows.count * outputs(); ++i) y[i] *= share();
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        std::fill_n(flow.x_gradient, rows.count * inputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r) {
            float* to = flow.x_gradient + r * inputs();
            const float* gradient = flow.y_gradient + r * outputs();
            if (t_.overlap())
                for_each([&](std::size_t of, std::size_t from) { to[from] += gradient[of] * share(); });
            else
                for_each([&](std::size_t of, std::size_t from) { to[from] = gradient[of] * share(); });
        }
    }
};

class MaxPool final : public Pool {
public:
    using Pool::Pool;
    void reserve(std::size_t examples, std::size_t) override { argmax_.resize(examples * outputs()); }
    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r, x += inputs(), y += outputs()) {
            std::uint32_t* argmax = argmax_.data() + (rows.first + r) * outputs();
            std::fill_n(y, outputs(), -INFINITY);
            std::fill_n(argmax, outputs(), kNone);
            for_each([&](std::size_t to, std::size_t from) {
                if (argmax[to] != kNone && !(x[from] > y[to]) && !std::isnan(x[from])) return;
                y[to] = x[from];
                argmax[to] = static_cast<std::uint32_t>(from);
            });
        }
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        std::fill_n(flow.x_gradient, rows.count * inputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r) {
            const std::uint32_t* argmax = argmax_.data() + (rows.first + r) * outputs();
            float* to = flow.x_gradient + r * inputs();
            const float* gradient = flow.y_gradient + r * outputs();
            for (std::size_t i = 0; i < outputs(); ++i)
                to[argmax[i]] = t_.overlap() ? to[argmax[i]] + gradient[i] : gradient[i];
        }
    }

private:
    static constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t> argmax_;  // [examples][outputs]: index in the example
};

}  // namespace

LayerOp max_pool_op() {
    return {.kind = LayerKind::MaxPool, .make = [](const Making& m) {
                return Made{std::make_unique<MaxPool>(image_of(m.layer.in), image_of(m.layer.fit.out), pool_terms(m.layer))};
            }};
}

LayerOp avg_pool_op() {
    return {
        .kind = LayerKind::AvgPool, .make = [](const Making& m) {
            return Made{std::make_unique<AveragePool>(image_of(m.layer.in), image_of(m.layer.fit.out), pool_terms(m.layer))};
        }};
}

}  // namespace fedhive::clients::direct
