// The products y = x · wᵀ + b of rows x with a layer's weights, and their gradients, for linear layers and attention's projections.
// Weights are in PyTorch's order [out][in].
#pragma once

#include "clients/direct/ops.h"

namespace fedhive::clients::direct {

class Dense {
public:
    Dense(std::size_t in, std::size_t out, TensorOffsets place)
        : in_(in), out_(out), place_(place), no_bias_(place.bias == TensorOffsets::kNone ? out : 0) {}
    std::size_t in() const { return in_; }
    std::size_t out() const { return out_; }

    /// y [rows][out] = x · wᵀ + b by dot products, which read each weight once; for few rows.
    void forward(const Pass& pass, const float* x, float* y, std::size_t rows) const;

    /// Transposes the weights for forward_many(): once a batch, frozen ones once.
    void begin(const Pass& pass);
    /// y [rows][out] = x · wᵀ + b by Gemm, for many rows. Its bits differ from forward()'s. bias: [out], in place of the layer's; null: the
    /// layer's.
    void forward_many(const Pass& pass, const float* x, float* y, std::size_t rows, const float* bias = nullptr) const;
    /// y += x · wᵀ
    void add_many(const Pass& pass, const float* x, float* y, std::size_t rows) const;

    /// Writes the bias's gradient, the sum of y_gradient over all rows of the batch. With a ReLU, whose output is y, y_gradient is first
    /// masked in place; null y: no ReLU.
    void finish_gradient(const Pass& pass, const float* y, float* y_gradient, std::size_t rows);

    /// add: to what x_gradient holds
    void input_gradient(const Pass& pass, const float* y_gradient, float* x_gradient, std::size_t rows, bool add = false) const;

    /// Writes the weights' gradient, or steps the weights if the pass has a descent. To be called after input_gradient(). Does nothing for
    /// frozen weights.
    void weight_gradient(const Pass& pass, const float* x, const float* y_gradient, std::size_t rows);

    /// Appends the parameters that weight_gradient() updates itself.
    void fused_parameters(std::vector<ParameterRange>& ranges) const;

private:
    Gemm weight_product(const float* x, const float* y_gradient, std::size_t rows, ParameterRange of_outputs,
                        ParameterRange of_inputs, float* to, std::size_t row) const;
    void descend(const Pass& pass, const float* x, const float* y_gradient, std::size_t rows);
    const float* bias_of(const Pass& pass) const { return no_bias_.empty() ? pass.values(place_.bias) : no_bias_.data(); }

    std::size_t in_, out_;
    TensorOffsets place_;
    Floats no_bias_;           // zeros, [out], if the layer has none
    Floats transposed_;        // in panels of outputs
    Floats block_, unwanted_;  // unwanted_: a frozen bias's gradient
};

}  // namespace fedhive::clients::direct
