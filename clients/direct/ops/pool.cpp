// Max and average pools of any size that are not fused with a convolution. Windows do not overlap; a rest at the edge is
// dropped.
#include "clients/direct/planner.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

class Pool : public Op {
public:
    Pool(const Image& in, std::size_t size)
        : Op(in.size(), Image{in.height / size, in.width / size, in.channels}.size()),
          in_(in),
          out_{in.height / size, in.width / size, in.channels},
          size_(size) {}

protected:
    /// visit(output index, input index) for each value of each window, in the image's order.
    template <typename Visit>
    void for_each(const Visit& visit) const {
        std::size_t to = 0;
        for (std::size_t i = 0; i < out_.height; ++i)
            for (std::size_t j = 0; j < out_.width; ++j, to += in_.channels)
                for (std::size_t k = 0; k < size_ * size_; ++k) {
                    const std::size_t from = (i * size_ + k / size_) * in_.width + j * size_ + k % size_;
                    for (std::size_t c = 0; c < in_.channels; ++c) visit(to + c, from * in_.channels + c);
                }
    }
    float share() const { return 1.0F / static_cast<float>(size_ * size_); }

    Image in_, out_;
    std::size_t size_;
};

class AveragePool final : public Pool {
public:
    using Pool::Pool;
    void forward(const Pass&, const float* x, float* y, Rows rows) override {
        std::fill_n(y, rows.count * outputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r)
            for_each([&](std::size_t to, std::size_t from) { y[r * outputs() + to] += x[r * inputs() + from]; });
        for (std::size_t i = 0; i < rows.count * outputs(); ++i) y[i] *= share();
    }
    void backward(const Pass&, const Flow& flow, Rows rows) override {
        if (flow.x_gradient == nullptr) return;
        std::fill_n(flow.x_gradient, rows.count * inputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r)
            for_each([&](std::size_t to, std::size_t from) {
                flow.x_gradient[r * inputs() + from] = flow.y_gradient[r * outputs() + to] * share();
            });
    }
};

class MaxPool final : public Pool {
public:
    using Pool::Pool;
    void reserve(std::size_t examples, std::size_t) override { argmax_.resize(examples * outputs()); }
    void forward(const Pass&, const float* x, float* y, Rows rows) override {
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
    void backward(const Pass&, const Flow& flow, Rows rows) override {
        if (flow.x_gradient == nullptr) return;
        std::fill_n(flow.x_gradient, rows.count * inputs(), 0.0F);
        for (std::size_t r = 0; r < rows.count; ++r) {
            const std::uint32_t* argmax = argmax_.data() + (rows.first + r) * outputs();
            for (std::size_t i = 0; i < outputs(); ++i)
                flow.x_gradient[r * inputs() + argmax[i]] = flow.y_gradient[r * outputs() + i];
        }
    }

private:
    static constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t> argmax_;  // [examples][outputs]: index in the example
};

}  // namespace

LayerOp max_pool_op() {
    return {.kind = LayerKind::MaxPool, .make = [](const Making& m) {
                return Made{std::make_unique<MaxPool>(image_of(m.layer.in), argument(m.layer, "size"))};
            }};
}

LayerOp avg_pool_op() {
    return {.kind = LayerKind::AvgPool,
            .lacks = [](const PlannedLayer& layer) -> std::string_view {
                const bool oblong = argument(layer, "size") == 0 && layer.in[1] != layer.in[2];
                return oblong ? "avg_pool over a whole image that is not square" : "";
            },
            .make =
                [](const Making& m) {
                    const Image in = image_of(m.layer.in);
                    const std::size_t size = argument(m.layer, "size");
                    return Made{std::make_unique<AveragePool>(in, size > 0 ? size : in.height)};  // 0: one window
                }};
}

}  // namespace fedhive::clients::direct
