// Flatten, and the changes between the orders of an image's values.
#include "clients/direct/planner.h"

namespace fedhive::clients::direct {

namespace {

class Transpose final : public Op {
public:
    Transpose(std::size_t rows, std::size_t columns) : Op(rows * columns, rows * columns), rows_(rows), columns_(columns) {}

    void forward(const Pass&, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) transpose(x + r * inputs(), y + r * inputs(), rows_, columns_);
    }
    void backward(const Pass&, const Flow& flow, ExampleRange rows) override {
        if (flow.x_gradient == nullptr) return;
        for (std::size_t r = 0; r < rows.count; ++r)
            transpose(flow.y_gradient + r * inputs(), flow.x_gradient + r * inputs(), columns_, rows_);
    }

private:
    static void transpose(const float* from, float* to, std::size_t rows, std::size_t columns) {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
    }
    std::size_t rows_, columns_;
};

}  // namespace

std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns) { return std::make_unique<Transpose>(rows, columns); }

/// Of images stored pixel by pixel, features in PyTorch's order, channel by channel.
LayerOp flatten_op() {
    return {.kind = LayerKind::Flatten, .make = [](const Making& m) {
                if (takes_sequence(m.layer)) return Made{};  // already stored position by position
                const Image in = image_of(m.layer.in);
                const bool reorders = m.pixels && in.pixels() > 1 && in.channels > 1;
                return Made{reorders ? make_transpose(in.pixels(), in.channels) : nullptr};
            }};
}

}  // namespace fedhive::clients::direct
