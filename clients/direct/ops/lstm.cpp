// Long short-term memory along a sequence, layers on layers; tensors and order of the gates as nn.LSTM's.
//
//   i, f, g, o = W_ih x_t + b_ih + b_hh + W_hh h_(t-1)      c_t = σ(i) tanh(g) + σ(f) c_(t-1)      h_t = σ(o) tanh(c_t)
//
// Order    the product with x, of all positions at once, then the one with h: one sum, biases first.
#include "clients/direct/ops/dense.h"
#include "clients/direct/planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

struct LstmPlace {
    Place of_input, of_state;
};

/// One layer, [positions][in] to [positions][hidden].
class LstmLayer {
public:
    LstmLayer(std::size_t positions, std::size_t in, std::size_t hidden, const LstmPlace& place)
        : positions_(positions), hidden_(hidden), place_(place), input_(in, 4 * hidden, place.of_input) {}

    void reserve(std::size_t examples) {
        gates_.resize(examples * positions_ * 4 * hidden_);
        for (Floats* each : {&cells_, &bounded_, &states_}) each->resize(examples * positions_ * hidden_);
        moved_state_.resize(examples * hidden_);
        moved_cell_.resize(examples * hidden_);
    }

    void begin(const Pass& pass) {
        input_.begin(pass);
        transposed_.resize(4 * hidden_ * hidden_);
        biases_.resize(4 * hidden_);
        const float *weight = pass.values(place_.of_state.weight), *one = pass.values(place_.of_input.bias),
                    *other = pass.values(place_.of_state.bias);
        transpose(weight, 4 * hidden_, hidden_, transposed_.data());
        for (std::size_t i = 0; i < biases_.size(); ++i) biases_[i] = one[i] + other[i];
    }

    /// x: [examples][positions][in]. Returns h, [examples][positions][hidden].
    const float* forward(const Pass& pass, const float* x, std::size_t examples) {
        input_.forward_many(pass, x, gates_.data(), examples * positions_, biases_.data());
        for (std::size_t t = 0; t < positions_; ++t) {
            if (t > 0)
                pass.kernels->gemm({.a = states_.data() + (t - 1) * hidden_,
                                    .a_row = stride_of(positions_ * hidden_),
                                    .a_inner = 1,
                                    .m = transposed_.data(),
                                    .m_inner = stride_of(4 * hidden_),
                                    .out = gates_.data() + t * 4 * hidden_,
                                    .out_row = stride_of(positions_ * 4 * hidden_),
                                    .rows = examples,
                                    .columns = 4 * hidden_,
                                    .outer = 1,
                                    .inner = hidden_,
                                    .add = true});
            for (std::size_t r = 0; r < examples; ++r) {
                const std::size_t at = (r * positions_ + t) * hidden_;
                pass.kernels->lstm_cell({.gates = gates_.data() + 4 * at,
                                         .before = t > 0 ? cells_.data() + at - hidden_ : nullptr,
                                         .cell = cells_.data() + at,
                                         .bounded = bounded_.data() + at,
                                         .state = states_.data() + at,
                                         .hidden = hidden_});
            }
        }
        return states_.data();
    }

    /// y_gradient: of h, [examples][positions][hidden]. The gates become their gradients.
    void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                  std::size_t examples) {
        std::fill(moved_cell_.begin(), moved_cell_.end(), 0.0F);
        for (std::size_t t = positions_; t-- > 0;) {
            for (std::size_t r = 0; r < examples; ++r) {
                const std::size_t at = (r * positions_ + t) * hidden_;
                pass.kernels->lstm_cell_back({.gates = gates_.data() + 4 * at,
                                              .before = t > 0 ? cells_.data() + at - hidden_ : nullptr,
                                              .bounded = bounded_.data() + at,
                                              .gradient = y_gradient + at,
                                              .later = t + 1 < positions_ ? moved_state_.data() + r * hidden_ : nullptr,
                                              .cell_gradient = moved_cell_.data() + r * hidden_,
                                              .hidden = hidden_});
            }
            if (t > 0)
                pass.kernels->gemm({.a = gates_.data() + t * 4 * hidden_,
                                    .a_row = stride_of(positions_ * 4 * hidden_),
                                    .a_inner = 1,
                                    .m = pass.values(place_.of_state.weight),
                                    .m_inner = stride_of(hidden_),
                                    .out = moved_state_.data(),
                                    .out_row = stride_of(hidden_),
                                    .rows = examples,
                                    .columns = hidden_,
                                    .outer = 1,
                                    .inner = 4 * hidden_});
        }
        const std::size_t rows = examples * positions_;
        if (x_gradient != nullptr) input_.input_gradient(pass, gates_.data(), x_gradient, rows);
        const ProfileScope scope(pass, op, Part::WeightGradient);
        input_.finish_gradient(pass, nullptr, gates_.data(), rows);
        if (float* to = pass.gradient_of(place_.of_state.bias)) sum_rows(pass, to, rows);
        input_.weight_gradient(pass, x, gates_.data(), rows);
        add_state_gradient(pass, examples);
    }

    void fused_parameters(std::vector<Range>& ranges) const { input_.fused_parameters(ranges); }
    const float* states() const { return states_.data(); }

private:
    void sum_rows(const Pass& pass, float* to, std::size_t rows) const {
        std::fill_n(to, 4 * hidden_, 0.0F);
        pass.kernels->bias_relu_backward({.gradient = gates_.data(), .bias_sums = to, .pixels = rows, .channels = 4 * hidden_});
    }

    /// dW_hh = Σ_r Σ_t>0 (gradient of the gates at t) · h_(t-1).
    void add_state_gradient(const Pass& pass, std::size_t examples) const {
        float* to = pass.gradient_of(place_.of_state.weight);
        if (to == nullptr) return;
        pass.kernels->gemm({.a = gates_.data() + 4 * hidden_,
                            .a_row = 1,
                            .a_outer = stride_of(positions_ * 4 * hidden_),
                            .a_inner = stride_of(4 * hidden_),
                            .m = states_.data(),
                            .m_outer = stride_of(positions_ * hidden_),
                            .m_inner = stride_of(hidden_),
                            .out = to,
                            .out_row = stride_of(hidden_),
                            .rows = 4 * hidden_,
                            .columns = hidden_,
                            .outer = examples,
                            .inner = positions_ - 1});
    }

    std::size_t positions_, hidden_;
    LstmPlace place_;
    Dense input_;
    Floats transposed_, biases_;       // W_hh as [hidden][4 · hidden]; b_ih + b_hh
    Floats gates_;                     // after their functions, [examples][positions][4 · hidden]
    Floats cells_, bounded_, states_;  // c, tanh(c), h: [examples][positions][hidden]
    Floats moved_state_, moved_cell_;  // gradients of h and c from later positions, [examples][hidden]
};

class Lstm final : public Op {
public:
    Lstm(std::size_t positions, std::size_t in, std::size_t hidden, bool all_positions, const std::vector<LstmPlace>& places)
        : Op(positions * in, (all_positions ? positions : 1) * hidden),
          positions_(positions),
          hidden_(hidden),
          all_positions_(all_positions) {
        for (const LstmPlace& place : places) layers_.emplace_back(positions, layers_.empty() ? in : hidden, hidden, place);
    }

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t) override {
        for (LstmLayer& layer : layers_) layer.reserve(examples);
        for (Floats& each : gradients_) each.resize(examples * positions_ * hidden_);
    }
    void begin(const Pass& pass) override {
        for (LstmLayer& layer : layers_) layer.begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        for (LstmLayer& layer : layers_) x = layer.forward(pass, x, rows.count);
        const std::size_t all = positions_ * hidden_;
        for (std::size_t r = 0; r < rows.count; ++r) std::copy_n(x + (r + 1) * all - outputs(), outputs(), y + r * outputs());
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        const std::size_t all = positions_ * hidden_;
        const float* gradient = flow.y_gradient;
        if (!all_positions_) {
            Floats& last = gradients_[layers_.size() % 2];
            std::fill(last.begin(), last.end(), 0.0F);
            for (std::size_t r = 0; r < rows.count; ++r)
                std::copy_n(flow.y_gradient + r * hidden_, hidden_, last.data() + (r + 1) * all - hidden_);
            gradient = last.data();
        }
        for (std::size_t i = layers_.size(); i-- > 0;) {
            float* to = i == 0 ? flow.x_gradient : gradients_[i % 2].data();
            layers_[i].backward(pass, this, i == 0 ? flow.x : layers_[i - 1].states(), gradient, to, rows.count);
            gradient = to;
        }
    }

    void fused_parameters(std::vector<Range>& ranges) const override {
        for (const LstmLayer& layer : layers_) layer.fused_parameters(ranges);
    }

private:
    std::size_t positions_, hidden_;
    bool all_positions_;
    std::vector<LstmLayer> layers_;
    Floats gradients_[2];  // of h between layers, [examples][positions][hidden]
};

}  // namespace

LayerOp lstm_op() {
    return {
        .kind = LayerKind::Lstm, .make = [](const Making& m) {
            std::vector<LstmPlace> places;
            for (std::size_t layer = 0; layer < argument(m.layer, "layers"); ++layer) {
                const auto place = [&](const char* of) {
                    return Place{m.planner.place_of(m.layer, fmt::format("weight_{}_l{}", of, layer)),
                                 m.planner.place_of(m.layer, fmt::format("bias_{}_l{}", of, layer))};
                };
                places.push_back({place("ih"), place("hh")});
            }
            return Made{std::make_unique<Lstm>(static_cast<std::size_t>(m.layer.in[0]), static_cast<std::size_t>(m.layer.in[1]),
                                               argument(m.layer, "hidden"), m.layer.arguments.flag("all_positions"), places)};
        }};
}

}  // namespace fedhive::clients::direct
