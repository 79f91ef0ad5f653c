// Long short-term memory along a sequence; tensors and order of the gates as nn.LSTM's.
//
//   i, f, g, o = W_ih x_t + b_ih + b_hh + W_hh h_(t-1)      c_t = σ(i) tanh(g) + σ(f) c_(t-1)      h_t = σ(o) tanh(c_t)
//
// Order    the product with x, of all positions at once, then the one with h: one sum, biases first.
#include "clients/direct/ops/recurrent.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class LstmLayer final : public RecurrentLayer {
public:
    explicit LstmLayer(const RecurrentTerms& terms)
        : t_(terms),
          columns_(4 * terms.hidden),
          input_(terms.in, columns_, terms.place.of_input),
          state_weights_(terms, columns_) {}

    void reserve(std::size_t examples) override {
        gates_.resize(examples * t_.positions * columns_);
        for (Floats* each : {&cells_, &bounded_, &states_}) each->resize(examples * t_.positions * t_.hidden);
        moved_state_.resize(examples * t_.hidden);
        moved_cell_.resize(examples * t_.hidden);
    }

    void begin(const Pass& pass) override {
        input_.begin(pass);
        state_weights_.take(pass);
        biases_.resize(columns_);
        const float *one = pass.values(t_.place.of_input.bias), *other = pass.values(t_.place.of_state.bias);
        for (std::size_t i = 0; i < biases_.size(); ++i) biases_[i] = one[i] + other[i];
    }

    void forward(const Pass& pass, const float* x, std::size_t examples) override {
        input_.forward_many(pass, x, gates_.data(), examples * t_.positions, biases_.data());
        for (std::size_t step = 0; step < t_.positions; ++step) {
            state_weights_.add_of_state(pass, step, states_.data(), gates_.data(), examples);
            const std::size_t at = t_.at(step) * t_.hidden;
            pass.kernels->lstm_cell({.gates = gates_.data() + 4 * at,
                                     .before = before(step),
                                     .cell = cells_.data() + at,
                                     .bounded = bounded_.data() + at,
                                     .state = states_.data() + at,
                                     .hidden = t_.hidden,
                                     .rows = examples,
                                     .row = t_.positions * t_.hidden});
        }
    }

    const float* states() const override { return states_.data(); }

    /// The gates become their gradients.
    void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                  std::size_t examples) override {
        state_weights_.take_back(pass);
        std::fill(moved_cell_.begin(), moved_cell_.end(), 0.0F);
        for (std::size_t step = t_.positions; step-- > 0;) {
            const std::size_t at = t_.at(step) * t_.hidden;
            pass.kernels->lstm_cell_back({.gates = gates_.data() + 4 * at,
                                          .before = before(step),
                                          .bounded = bounded_.data() + at,
                                          .gradient = y_gradient + at,
                                          .later = step + 1 < t_.positions ? moved_state_.data() : nullptr,
                                          .cell_gradient = moved_cell_.data(),
                                          .hidden = t_.hidden,
                                          .rows = examples,
                                          .row = t_.positions * t_.hidden});
            if (step > 0) state_weights_.give_to_state(pass, step, gates_.data(), moved_state_.data(), examples, false);
        }
        write_gradients(pass, op, t_, input_, x, x_gradient, gates_.data(), gates_.data(), states_.data(), columns_, examples);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override { input_.fused_parameters(ranges); }

private:
    /// The first example's cell before a step; null: 0.
    const float* before(std::size_t step) const { return step > 0 ? cells_.data() + t_.at(step - 1) * t_.hidden : nullptr; }

    RecurrentTerms t_;
    std::size_t columns_;
    Dense input_;
    StateWeights state_weights_;
    Floats biases_;                    // b_ih + b_hh
    Floats gates_;                     // after their functions, [examples][positions][4 · hidden]
    Floats cells_, bounded_, states_;  // c, tanh(c), h: [examples][positions][hidden]
    Floats moved_state_, moved_cell_;  // gradients of h and c from later steps, [examples][hidden]
};

}  // namespace

LayerOp lstm_op() {
    return {.kind = LayerKind::Lstm, .make = [](const Making& m) {
                return make_recurrent(m, [](const RecurrentTerms& terms) -> std::unique_ptr<RecurrentLayer> {
                    return std::make_unique<LstmLayer>(terms);
                });
            }};
}

}  // namespace fedhive::clients::direct
