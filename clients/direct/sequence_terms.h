// What kernels of layers on sequences take, and what they compute of it.
#pragma once

#include <cstddef>

namespace fedhive::clients::direct {

/// y[r][c] = (x[r][c] − mean[r]) · inverse[r] · weight[c] + bias[c] with each row's mean and 1 / sqrt(variance + ε), which it writes.
struct RowNorm {
    const float* x = nullptr;  // [rows][features]
    const float *weight = nullptr, *bias = nullptr;
    float *y = nullptr, *mean = nullptr, *inverse = nullptr;
    std::size_t rows = 0, features = 0;
};

/// weight_sums[c] += Σ_r g[r][c] · n[r][c] and bias_sums[c] += Σ_r g[r][c], rows in order, with n the normed x; x_gradient: RowNorm's.
struct RowNormBack {
    const float *x = nullptr, *gradient = nullptr;  // [rows][features]
    const float *weight = nullptr, *mean = nullptr, *inverse = nullptr;
    float *weight_sums = nullptr, *bias_sums = nullptr;
    float* x_gradient = nullptr;  // null: not wanted
    std::size_t rows = 0, features = 0;
};

/// scores[r] = softmax(scale · scores[r]); if causal over columns c <= r alone, and 0 in the others.
struct Softmax {
    float* scores = nullptr;  // [rows][columns]
    std::size_t rows = 0, columns = 0;
    float scale = 1.0F;
    bool causal = false;
};

/// gradient[r] = scale · shares[r] · (gradient[r] − Σ_c shares[r][c] · gradient[r][c]): of Softmax's shares to its scores.
struct SoftmaxGradient {
    const float* shares = nullptr;  // [rows][columns]
    float* gradient = nullptr;
    std::size_t rows = 0, columns = 0;
    float scale = 1.0F;
};

/// One position of an LSTM for one example: gates [4 · hidden], i f g o, become σ, σ, tanh, σ of themselves; cell = σ(i) tanh(g) +
/// σ(f) before; bounded = tanh(cell); state = σ(o) bounded.
struct LstmCell {
    float* gates = nullptr;
    const float* before = nullptr;  // the last position's cell; null: 0
    float *cell = nullptr, *bounded = nullptr, *state = nullptr;
    std::size_t hidden = 0;
};

/// LstmCell's gates become the gradients of what they were computed from. cell_gradient: in, of the cell by later positions; out, of
/// `before`.
struct LstmCellBack {
    float* gates = nullptr;
    const float *before = nullptr, *bounded = nullptr;
    const float* gradient = nullptr;  // of the state
    const float* later = nullptr;     // likewise, by the next position; null: 0
    float* cell_gradient = nullptr;
    std::size_t hidden = 0;
};

/// One position of a GRU for one example: gates [3 · hidden], r z n of the input, become σ(r + r'), σ(z + z'), tanh(n + σ(r + r') m)
/// with r' z' m of the state before; state = n + z (before − n).
struct GruCell {
    float* gates = nullptr;
    const float* of_state = nullptr;  // [3 · hidden]
    const float* before = nullptr;    // the last position's state; null: 0
    float* state = nullptr;
    std::size_t hidden = 0;
};

/// GruCell's gates and of_state become the gradients of what they were computed from. state_gradient: in, of the state by later
/// positions; out, of `before` without of_state's share.
struct GruCellBack {
    float *gates = nullptr, *of_state = nullptr;
    const float* before = nullptr;
    const float* gradient = nullptr;  // of the state
    float* state_gradient = nullptr;
    std::size_t hidden = 0;
};

}  // namespace fedhive::clients::direct
