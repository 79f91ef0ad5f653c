// Channel shuffle of images stored pixel by pixel: the channels of each pixel in another order.
#include "clients/direct/planner.h"

namespace fedhive::clients::direct {

namespace {

class ChannelShuffle final : public Op {
public:
    ChannelShuffle(const Image& in, std::size_t groups) : Op(in.size(), in.size()), channels_(in.channels), groups_(groups) {}

    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override {
        shuffle(x, y, rows, groups_, channels_ / groups_);
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient != nullptr) shuffle(flow.y_gradient, flow.x_gradient, rows, channels_ / groups_, groups_);
    }

private:
    /// y[j · groups + i] = x[i · size + j] of each pixel; the inverse swaps groups and size.
    void shuffle(const float* x, float* y, ExampleRange rows, std::size_t groups, std::size_t size) const {
        for (const float* const end = x + rows.count * inputs(); x != end; x += channels_, y += channels_)
            for (std::size_t i = 0; i < groups; ++i)
                for (std::size_t j = 0; j < size; ++j) y[j * groups + i] = x[i * size + j];
    }
    std::size_t channels_, groups_;
};

}  // namespace

LayerOp channel_shuffle_op() {
    return {.kind = LayerKind::ChannelShuffle, .make = [](const Making& m) {
                return Made{std::make_unique<ChannelShuffle>(image_of(m.layer.in), argument(m.layer, "groups"))};
            }};
}

}  // namespace fedhive::clients::direct
