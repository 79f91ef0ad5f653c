// Gated recurrent units along a sequence; tensors, order of the gates and biases as nn.GRU's.
//
//   r, z, n = W_ih x_t + b_ih           r', z', m = W_hh h_(t-1) + b_hh
//   n' = tanh(n + σ(r + r') m)          h_t = n' + σ(z + z') (h_(t-1) − n')
#include "clients/direct/ops/recurrent.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class GruLayer final : public RecurrentLayer {
public:
    explicit GruLayer(const RecurrentTerms& terms)
        : t_(terms),
          columns_(3 * terms.hidden),
          input_(terms.in, columns_, terms.place.of_input),
          state_weights_(terms, columns_) {}

    void reserve(std::size_t examples) override {
        gates_.resize(examples * t_.positions * columns_);
        of_state_.resize(examples * t_.positions * columns_);
        states_.resize(examples * t_.positions * t_.hidden);
        moved_state_.resize(examples * t_.hidden);
    }

    void begin(const Pass& pass) override {
        input_.begin(pass);
        state_weights_.take(pass);
    }

    void forward(const Pass& pass, const float* x, std::size_t examples) override {
        input_.forward_many(pass, x, gates_.data(), examples * t_.positions);
        const float* bias = pass.values(t_.place.of_state.bias);
        for (std::size_t i = 0; i < examples * t_.positions; ++i) std::copy_n(bias, columns_, of_state_.data() + i * columns_);
        for (std::size_t step = 0; step < t_.positions; ++step) {
            state_weights_.add_of_state(pass, step, states_.data(), of_state_.data(), examples);
            for (std::size_t r = 0; r < examples; ++r) {
                const std::size_t at = place_of(r, step);
                pass.kernels->gru_cell({.gates = gates_.data() + 3 * at,
                                        .of_state = of_state_.data() + 3 * at,
                                        .before = step > 0 ? states_.data() + place_of(r, step - 1) : nullptr,
                                        .state = states_.data() + at,
                                        .hidden = t_.hidden});
            }
        }
    }

    const float* states() const override { return states_.data(); }

    /// gates_ and of_state_ become their gradients.
    void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                  std::size_t examples) override {
        state_weights_.take_back(pass);
        std::fill(moved_state_.begin(), moved_state_.end(), 0.0F);
        for (std::size_t step = t_.positions; step-- > 0;) {
            for (std::size_t r = 0; r < examples; ++r) {
                const std::size_t at = place_of(r, step);
                pass.kernels->gru_cell_back({.gates = gates_.data() + 3 * at,
                                             .of_state = of_state_.data() + 3 * at,
                                             .before = step > 0 ? states_.data() + place_of(r, step - 1) : nullptr,
                                             .gradient = y_gradient + at,
                                             .state_gradient = moved_state_.data() + r * t_.hidden,
                                             .hidden = t_.hidden});
            }
            if (step > 0) state_weights_.give_to_state(pass, step, of_state_.data(), moved_state_.data(), examples, true);
        }
        write_gradients(pass, op, t_, input_, x, x_gradient, gates_.data(), of_state_.data(), states_.data(), columns_,
                        examples);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override { input_.fused_parameters(ranges); }

private:
    std::size_t place_of(std::size_t r, std::size_t step) const { return (r * t_.positions + t_.at(step)) * t_.hidden; }

    RecurrentTerms t_;
    std::size_t columns_;
    Dense input_;
    StateWeights state_weights_;
    Floats gates_;        // r, z, n after their functions, [examples][positions][3 · hidden]
    Floats of_state_;     // the product with the state before, likewise
    Floats states_;       // h, [examples][positions][hidden]
    Floats moved_state_;  // the gradient of h from later steps, [examples][hidden]
};

}  // namespace

LayerOp gru_op() {
    return {.kind = LayerKind::Gru, .make = [](const Making& m) {
                return make_recurrent(m, [](const RecurrentTerms& terms) -> std::unique_ptr<RecurrentLayer> {
                    return std::make_unique<GruLayer>(terms);
                });
            }};
}

}  // namespace fedhive::clients::direct
