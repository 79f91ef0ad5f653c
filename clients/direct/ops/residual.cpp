// Layers whose output is added to what went into them.
#include "clients/direct/ops.h"

namespace fedhive::clients::direct {

namespace {

class Residual final : public Op {
public:
    explicit Residual(Chain chain) : Op(chain.inputs(), chain.outputs()), chain_(std::move(chain)) {}

    void reserve(std::size_t examples, std::size_t group) override { chain_.reserve(examples, group); }
    void begin(const Pass& pass) override { chain_.begin(pass); }
    void begin_backward(const Pass& pass) override { chain_.begin_backward(pass); }
    void end_backward(const Pass& pass) override { chain_.end_backward(pass); }
    void steps_itself(std::vector<Range>& ranges) const override { chain_.steps_itself(ranges); }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        chain_.forward(pass, x, rows);
        const float* within = chain_.output(rows.first);
        for (std::size_t i = 0; i < rows.count * outputs(); ++i) y[i] = within[i] + x[i];
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        // The chain may change what it is given, and the sum needs it once more.
        const std::size_t size = rows.count * outputs();
        kept_.assign(flow.y_gradient, flow.y_gradient + size);
        chain_.backward(pass, flow.x, flow.y_gradient, flow.x_gradient, rows);
        if (flow.x_gradient == nullptr) return;
        for (std::size_t i = 0; i < size; ++i) flow.x_gradient[i] += kept_[i];
    }

private:
    Chain chain_;
    Floats kept_;
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

std::unique_ptr<Op> make_residual(Chain chain) { return std::make_unique<Residual>(std::move(chain)); }
std::unique_ptr<Op> make_transpose(std::size_t rows, std::size_t columns) { return std::make_unique<Transpose>(rows, columns); }

}  // namespace fedhive::clients::direct
