// Products of rows with a layer's weights, y = x · wᵀ + b, and their gradients: linear layers and attention's projections.
// Weights are in PyTorch's order [out][in].
#pragma once

#include "clients/direct/ops.h"

namespace fedhive::clients::direct {

/// to[columns][rows] = from[rows][columns]
void transpose(const float* from, std::size_t rows, std::size_t columns, float* to);

class Dense {
public:
    Dense(std::size_t in, std::size_t out, TensorOffsets place)
        : in_(in), out_(out), place_(place), no_bias_(place.bias == TensorOffsets::kNone ? out : 0) {}
    std::size_t in() const { return in_; }
    std::size_t out() const { return out_; }

    /// y [rows][out] by dot products: for few rows, each weight is read once.
    void forward(const Pass& pass, const float* x, float* y, std::size_t rows) const;

    /// The same for many rows, by Gemm, from weights that begin() has transposed, frozen ones once. Other bits than forward().
    void begin(const Pass& pass);
    /// bias: [out], in place of the layer's; null: that one
    void forward_many(const Pass& pass, const float* x, float* y, std::size_t rows, const float* bias = nullptr) const;
    /// y += x · wᵀ
    void add_many(const Pass& pass, const float* x, float* y, std::size_t rows) const;

    /// y: masks y_gradient by a ReLU in place; null: there is none. Writes the bias's gradient; the rows are the whole batch's.
    void finish_gradient(const Pass& pass, const float* y, float* y_gradient, std::size_t rows);

    /// add: to what x_gradient holds
    void input_gradient(const Pass& pass, const float* y_gradient, float* x_gradient, std::size_t rows, bool add = false) const;

    /// Writes the weights' gradient, or steps them if the pass has a descent; after input_gradient(). Nothing for frozen ones.
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
    Floats transposed_;        // [in][out]
    Floats block_, unwanted_;  // unwanted_: a frozen bias's gradient
};

}  // namespace fedhive::clients::direct
