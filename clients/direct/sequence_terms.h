// The arguments of kernels for layers on sequences, with what each kernel computes.
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
    float* x_gradient = nullptr;  // null: not needed
    std::size_t rows = 0, features = 0;
};

/// scores[r] = softmax(scale · scores[r]). If causal, the softmax is over columns c <= r, and the other columns become 0.
struct Softmax {
    float* scores = nullptr;  // [rows][columns]
    std::size_t rows = 0, columns = 0;
    float scale = 1.0F;
    bool causal = false;
};

/// gradient[r] = scale · shares[r] · (gradient[r] − Σ_c shares[r][c] · gradient[r][c]), from the gradient of Softmax's results, `shares`,
/// to that of its scores.
struct SoftmaxGradient {
    const float* shares = nullptr;  // [rows][columns]
    float* gradient = nullptr;
    std::size_t rows = 0, columns = 0;
    float scale = 1.0F;
};

/// One position of an LSTM for each of `rows` examples. Its gates [4 · hidden], in the order i f g o, become σ(i) σ(f) tanh(g) σ(o);
/// cell = σ(i) tanh(g) + σ(f) before; bounded = tanh(cell); state = σ(o) bounded. Pointers are to the first example's values; the
/// next example's are `row` floats further, its gates 4 · row.
struct LstmCell {
    float* gates = nullptr;
    const float* before = nullptr;  // the cell of the position before; null: 0
    float *cell = nullptr, *bounded = nullptr, *state = nullptr;
    std::size_t hidden = 0, rows = 0, row = 0;
};

/// The backward pass of LstmCell: its gates become their gradients. cell_gradient: on entry the gradient of `cell` from later positions, on
/// return that of `before`. `later` and `cell_gradient`: [rows][hidden].
struct LstmCellBack {
    float* gates = nullptr;
    const float *before = nullptr, *bounded = nullptr;
    const float* gradient = nullptr;  // gradient of the state from the layer's output
    const float* later = nullptr;     // gradient of the state from the next position; null: 0
    float* cell_gradient = nullptr;
    std::size_t hidden = 0, rows = 0, row = 0;
};

/// One position of a GRU for one example. Its gates [3 · hidden], in the order r z n, computed from the input, become r = σ(r + r'),
/// z = σ(z + z'), n = tanh(n + r m), with r' z' m (of_state) computed from the state before; state = n + z (before − n).
struct GruCell {
    float* gates = nullptr;
    const float* of_state = nullptr;  // [3 · hidden]
    const float* before = nullptr;    // the state of the position before; null: 0
    float* state = nullptr;
    std::size_t hidden = 0;
};

/// The backward pass of GruCell: its gates and of_state become their gradients. state_gradient: on entry the gradient of `state` from later
/// positions, on return that of `before` without the part that passes through of_state.
struct GruCellBack {
    float *gates = nullptr, *of_state = nullptr;
    const float* before = nullptr;
    const float* gradient = nullptr;  // of the state
    float* state_gradient = nullptr;
    std::size_t hidden = 0;
};

}  // namespace fedhive::clients::direct
