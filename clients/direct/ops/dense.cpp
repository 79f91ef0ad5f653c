#include "clients/direct/ops/dense.h"

#include <algorithm>

namespace fedhive::clients::direct {

void Dense::forward(const Pass& pass, const float* x, float* y, std::size_t rows) const {
    pass.kernels->dot({.x = x,
                       .x_row = stride_of(in_),
                       .w = pass.values(place_.weight),
                       .w_row = stride_of(in_),
                       .bias = bias_of(pass),
                       .y = y,
                       .y_row = stride_of(out_),
                       .rows = rows,
                       .outputs = out_,
                       .length = in_});
}

void Dense::begin(const Pass& pass) {
    if (!transposed_.empty() && is_frozen(place_.weight)) return;
    transposed_.resize(to_panels(out_) * in_);
    pass.kernels->write_panels(
        {.from = pass.values(place_.weight), .rows = out_, .columns = in_, .transposed = true, .to = transposed_.data()});
}

void Dense::forward_many(const Pass& pass, const float* x, float* y, std::size_t rows, const float* bias) const {
    if (bias == nullptr) bias = bias_of(pass);
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(bias, out_, y + r * out_);
    add_many(pass, x, y, rows);
}

void Dense::add_many(const Pass& pass, const float* x, float* y, std::size_t rows) const {
    pass.kernels->gemm({.a = x,
                        .a_row = stride_of(in_),
                        .a_inner = 1,
                        .m = transposed_.data(),
                        .m_inner = kPanel,
                        .m_panel = stride_of(in_ * kPanel),
                        .out = y,
                        .out_row = stride_of(out_),
                        .rows = rows,
                        .columns = out_,
                        .outer = 1,
                        .inner = in_,
                        .add = true});
}

void Dense::finish_gradient(const Pass& pass, const float* y, float* y_gradient, std::size_t rows) {
    float* bias_gradient = pass.gradient_of(place_.bias);
    if (bias_gradient == nullptr) {
        if (y == nullptr) return;
        unwanted_.resize(out_);
        bias_gradient = unwanted_.data();
    }
    std::fill_n(bias_gradient, out_, 0.0F);
    pass.kernels->bias_relu_backward({.gradient = y_gradient,
                                      .y = y,
                                      .to = y != nullptr ? y_gradient : nullptr,
                                      .bias_sums = bias_gradient,
                                      .pixels = rows,
                                      .channels = out_});
}

void Dense::input_gradient(const Pass& pass, const float* y_gradient, float* x_gradient, std::size_t rows, bool add) const {
    pass.kernels->gemm({.a = y_gradient,
                        .a_row = stride_of(out_),
                        .a_inner = 1,
                        .m = pass.values(place_.weight),
                        .m_inner = stride_of(in_),
                        .out = x_gradient,
                        .out_row = stride_of(in_),
                        .rows = rows,
                        .columns = in_,
                        .outer = 1,
                        .inner = out_,
                        .add = add});
}

void Dense::weight_gradient(const Pass& pass, const float* x, const float* y_gradient, std::size_t rows) {
    if (is_frozen(place_.weight)) return;
    if (pass.descent != nullptr)
        descend(pass, x, y_gradient, rows);
    else
        pass.kernels->gemm(weight_product(x, y_gradient, rows, {0, out_}, {0, in_}, pass.gradient_of(place_.weight), in_));
}

void Dense::fused_parameters(std::vector<ParameterRange>& ranges) const {
    if (!is_frozen(place_.weight)) ranges.push_back({place_.weight, in_ * out_});
}

/// dw[o][i] = Σ_r dy[r][o] · x[r][i] for some outputs and inputs, to `to` with `row` floats per output.
Gemm Dense::weight_product(const float* x, const float* y_gradient, std::size_t rows, ParameterRange of_outputs,
                           ParameterRange of_inputs, float* to, std::size_t row) const {
    return {.a = y_gradient + of_outputs.first,
            .a_row = 1,
            .a_outer = 0,
            .a_inner = stride_of(out_),
            .m = x + of_inputs.first,
            .m_outer = 0,
            .m_inner = stride_of(in_),
            .out = to,
            .out_row = stride_of(row),
            .rows = of_outputs.size,
            .columns = of_inputs.size,
            .outer = 1,
            .inner = rows};
}

/// Steps the weights without a gradient in memory: there are many, and each is used once per step. Plain SGD: the gradient
/// stays in registers. Optimizers with state, gradients that are changed, or sums of many terms: the gradient is computed block by block
/// and stays cached.
void Dense::descend(const Pass& pass, const float* x, const float* y_gradient, std::size_t rows) {
    const Descent& descent = *pass.descent;
    constexpr std::size_t kManyRows = 128;
    const aggregation::SgdOptions* sgd = descent.optimizer->plain_sgd();
    if (sgd != nullptr && descent.change == nullptr && rows < kManyRows) {
        Gemm update = weight_product(x, y_gradient, rows, {0, out_}, {0, in_}, descent.parameters + place_.weight, in_);
        update.descend = true;
        update.from = descent.before() + place_.weight;
        update.rate = sgd->lr;
        update.decay = sgd->weight_decay;
        return pass.kernels->gemm(update);
    }
    // Blocks of equal size; with many rows, wide enough for Gemm to copy its factors.
    constexpr std::size_t kRegisterTile = 12;
    const std::size_t block = (rows < kManyRows ? 12 : 96) * 1024,
                      inputs = std::min<std::size_t>(in_, rows < kManyRows ? 1024 : 256),
                      outputs = std::max<std::size_t>(block / inputs / kRegisterTile, 1) * kRegisterTile;
    block_.resize(std::min(outputs, out_) * inputs);
    for (std::size_t o = 0; o < out_; o += outputs)
        for (std::size_t i = 0; i < in_; i += inputs) {
            const ParameterRange of_outputs{o, std::min(outputs, out_ - o)}, of_inputs{i, std::min(inputs, in_ - i)};
            pass.kernels->gemm(weight_product(x, y_gradient, rows, of_outputs, of_inputs, block_.data(), of_inputs.size));
            if (of_inputs.size == in_) {
                step(descent, {place_.weight + o * in_, of_outputs.size * in_}, block_.data());
                continue;
            }
            for (std::size_t r = 0; r < of_outputs.size; ++r)
                step(descent, {place_.weight + (o + r) * in_ + i, of_inputs.size}, block_.data() + r * of_inputs.size);
        }
}

}  // namespace fedhive::clients::direct
