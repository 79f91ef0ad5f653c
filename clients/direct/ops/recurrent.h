// The parts that LSTM and GRU share: recurrent layers along a sequence, stacked, in one direction or in both.
#pragma once

#include "clients/direct/ops/dense.h"
#include "clients/direct/planner.h"

#include <memory>

namespace fedhive::clients::direct {

struct RecurrentPlace {
    TensorOffsets of_input, of_state;
};

/// One layer in one direction.
struct RecurrentTerms {
    std::size_t positions = 1, in = 1, hidden = 1;
    bool backwards = false;  // from the last position to the first
    RecurrentPlace place{};

    /// The position that a step computes, and the position of the step before it; step 0 has none before it.
    std::size_t at(std::size_t step) const { return backwards ? positions - 1 - step : step; }
};

/// One layer in one direction, from [positions][in] to [positions][hidden].
class RecurrentLayer {
public:
    RecurrentLayer() = default;
    RecurrentLayer(const RecurrentLayer&) = delete;
    RecurrentLayer& operator=(const RecurrentLayer&) = delete;
    virtual ~RecurrentLayer() = default;

    virtual void reserve(std::size_t examples) = 0;
    virtual void begin(const Pass& pass) = 0;

    /// x: [examples][positions][in]. Writes states().
    virtual void forward(const Pass& pass, const float* x, std::size_t examples) = 0;

    /// The hidden states h, [examples][positions][hidden], valid until the next forward().
    virtual const float* states() const = 0;

    /// y_gradient: the gradient of h. x_gradient: written; null: not needed.
    virtual void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                          std::size_t examples) = 0;

    virtual void fused_parameters(std::vector<ParameterRange>& ranges) const = 0;
};

/// W_hh, [columns][hidden], in panels of columns, which each step of a sequence reads from beginning to end.
class StateWeights {
public:
    StateWeights(const RecurrentTerms& terms, std::size_t columns) : t_(terms), columns_(columns) {}

    /// Called once per batch, before add_of_state().
    void take(const Pass& pass);
    /// Called once per batch, before give_to_state().
    void take_back(const Pass& pass);

    /// out[r] at the step += h[r] of the step before · W_hhᵀ, for all examples r. out: [examples][positions][columns].
    void add_of_state(const Pass& pass, std::size_t step, const float* states, float* out, std::size_t examples) const;

    /// to[r] (+)= gradient[r] at the step · W_hh. to: [examples][hidden]; gradient: [examples][positions][columns].
    void give_to_state(const Pass& pass, std::size_t step, const float* gradient, float* to, std::size_t examples,
                       bool add) const;

private:
    RecurrentTerms t_;
    std::size_t columns_;
    Floats forward_, back_;  // [panels][hidden][kPanel] of W_hhᵀ; [panels][columns][kPanel] of W_hh
};

/// Writes the gradients of a layer's input x (null: not needed) and of its four parameters, from those of its gates, both
/// [examples][positions][columns]: of_input is the gradient of W_ih x + b_ih, of_state that of W_hh h + b_hh. The gradient of W_hh is the sum
/// of of_state · h of the step before, over examples and all steps but the first.
void write_gradients(const Pass& pass, const Op* op, const RecurrentTerms& terms, Dense& input, const float* x,
                     float* x_gradient, float* of_input, const float* of_state, const float* states, std::size_t columns,
                     std::size_t examples);

/// The operation of a layer of kind lstm or gru.
Made make_recurrent(const Making& making, std::unique_ptr<RecurrentLayer> (*make)(const RecurrentTerms& terms));

}  // namespace fedhive::clients::direct
