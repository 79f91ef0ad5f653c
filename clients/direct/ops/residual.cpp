// Residual block: y = chain(x) + shortcut(x), with an identity shortcut if it has no layers.
#include "clients/direct/ops.h"

#include <algorithm>
#include <array>

namespace fedhive::clients::direct {

namespace {

class Residual final : public Op {
public:
    Residual(std::size_t inputs, std::size_t outputs, Chain chain, Chain shortcut, bool relu)
        : Op(inputs, outputs), chain_(std::move(chain)), shortcut_(std::move(shortcut)), relu_(relu) {}

    bool has_parameters() const override { return chain_.has_parameters() || shortcut_.has_parameters(); }
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
    void fused_parameters(std::vector<Range>& ranges) const override {
        for (const Chain* each : both_) each->fused_parameters(ranges);
    }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        const float *within = chain_.forward(pass, x, rows), *beside = shortcut_.forward(pass, x, rows);
        pass.kernels->add(within, beside, y, rows.count * outputs(), relu_);
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
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

class Transpose final : public Op {
public:
    Transpose(std::size_t rows, std::size_t columns) : Op(rows * columns, rows * columns), rows_(rows), columns_(columns) {}

    void forward(const Pass&, const float* x, float* y, Rows rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) transpose(x + r * inputs(), y + r * inputs(), rows_, columns_);
    }
    void backward(const Pass&, const Flow& flow, Rows rows) override {
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

std::unique_ptr<Op> make_residual(std::size_t inputs, std::size_t outputs, Chain chain, Chain shortcut, bool relu) {
    return std::make_unique<Residual>(inputs, outputs, std::move(chain), std::move(shortcut), relu);
}
std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns) { return std::make_unique<Transpose>(rows, columns); }

}  // namespace fedhive::clients::direct
