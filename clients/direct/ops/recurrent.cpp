#include "clients/direct/ops/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fedhive::clients::direct {

void StateWeights::take(const Pass& pass) {
    forward_.resize(to_panels(columns_) * t_.hidden);
    pass.kernels->write_panels({.from = pass.values(t_.place.of_state.weight),
                                .rows = columns_,
                                .columns = t_.hidden,
                                .transposed = true,
                                .to = forward_.data()});
}

void StateWeights::take_back(const Pass& pass) {
    back_.resize(to_panels(t_.hidden) * columns_);
    pass.kernels->write_panels(
        {.from = pass.values(t_.place.of_state.weight), .rows = columns_, .columns = t_.hidden, .to = back_.data()});
}

void StateWeights::add_of_state(const Pass& pass, std::size_t step, const float* states, float* out,
                                std::size_t examples) const {
    if (step == 0) return;
    pass.kernels->gemm({.a = states + t_.at(step - 1) * t_.hidden,
                        .a_row = stride_of(t_.positions * t_.hidden),
                        .a_inner = 1,
                        .m = forward_.data(),
                        .m_inner = kPanel,
                        .m_panel = stride_of(t_.hidden * kPanel),
                        .out = out + t_.at(step) * columns_,
                        .out_row = stride_of(t_.positions * columns_),
                        .rows = examples,
                        .columns = columns_,
                        .outer = 1,
                        .inner = t_.hidden,
                        .add = true});
}

void StateWeights::give_to_state(const Pass& pass, std::size_t step, const float* gradient, float* to, std::size_t examples,
                                 bool add) const {
    pass.kernels->gemm({.a = gradient + t_.at(step) * columns_,
                        .a_row = stride_of(t_.positions * columns_),
                        .a_inner = 1,
                        .m = back_.data(),
                        .m_inner = kPanel,
                        .m_panel = stride_of(columns_ * kPanel),
                        .out = to,
                        .out_row = stride_of(t_.hidden),
                        .rows = examples,
                        .columns = t_.hidden,
                        .outer = 1,
                        .inner = columns_,
                        .add = add});
}

namespace {

/// known_sums: the sums of `gradient` over its rows, the bias's gradient; null: not known.
void write_state_gradients(const Pass& pass, const RecurrentTerms& t, const float* gradient, const float* known_sums,
                           std::size_t columns, const float* states, std::size_t examples) {
    float* sums = pass.gradient_of(t.place.of_state.bias);
    if (sums != nullptr && known_sums != nullptr) {
        std::copy_n(known_sums, columns, sums);
    } else if (sums != nullptr) {
        std::fill_n(sums, columns, 0.0F);
        pass.kernels->bias_relu_backward(
            {.gradient = gradient, .bias_sums = sums, .pixels = examples * t.positions, .channels = columns});
    }
    float* to = pass.gradient_of(t.place.of_state.weight);
    if (to == nullptr) return;
    const std::size_t first = t.backwards ? 0 : 1, before = 1 - first;  // of the positions that have a step before them
    pass.kernels->gemm({.a = gradient + first * columns,
                        .a_row = 1,
                        .a_outer = stride_of(t.positions * columns),
                        .a_inner = stride_of(columns),
                        .m = states + before * t.hidden,
                        .m_outer = stride_of(t.positions * t.hidden),
                        .m_inner = stride_of(t.hidden),
                        .out = to,
                        .out_row = stride_of(t.hidden),
                        .rows = columns,
                        .columns = t.hidden,
                        .outer = examples,
                        .inner = t.positions - 1});
}

}  // namespace

void write_gradients(const Pass& pass, const Op* op, const RecurrentTerms& t, Dense& input, const float* x, float* x_gradient,
                     float* of_input, const float* of_state, const float* states, std::size_t columns, std::size_t examples) {
    const std::size_t rows = examples * t.positions;
    if (x_gradient != nullptr) input.input_gradient(pass, of_input, x_gradient, rows);
    const ProfileScope scope(pass, op, StepPhase::WeightGradient);
    input.finish_gradient(pass, nullptr, of_input, rows);
    input.weight_gradient(pass, x, of_input, rows);
    const float* sums = of_state == of_input ? pass.gradient_of(t.place.of_input.bias) : nullptr;
    write_state_gradients(pass, t, of_state, sums, columns, states, examples);
}

namespace {

using Directions = std::vector<std::unique_ptr<RecurrentLayer>>;

/// One layer, in one direction or in both: [positions][in] to [positions][directions · hidden].
class RecurrentLevel {
public:
    RecurrentLevel(Directions directions, std::size_t positions, std::size_t in, std::size_t hidden)
        : directions_(std::move(directions)), positions_(positions), in_(in), hidden_(hidden) {}

    bool both_ways() const { return directions_.size() == 2; }

    void reserve(std::size_t examples) {
        for (auto& direction : directions_) direction->reserve(examples);
        if (!both_ways()) return;
        joined_.resize(examples * positions_ * 2 * hidden_);
        part_.resize(examples * positions_ * hidden_);
        beside_.resize(examples * positions_ * in_);
    }

    void begin(const Pass& pass) {
        for (auto& direction : directions_) direction->begin(pass);
    }

    const float* forward(const Pass& pass, const float* x, std::size_t examples) {
        for (auto& direction : directions_) direction->forward(pass, x, examples);
        if (both_ways())
            for (std::size_t way = 0; way < 2; ++way)
                for (std::size_t i = 0; i < examples * positions_; ++i)
                    std::copy_n(directions_[way]->states() + i * hidden_, hidden_, joined_.data() + (2 * i + way) * hidden_);
        return output();
    }

    /// Of the last forward().
    const float* output() const { return both_ways() ? joined_.data() : directions_.front()->states(); }

    void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                  std::size_t examples) {
        if (!both_ways()) return directions_.front()->backward(pass, op, x, y_gradient, x_gradient, examples);
        for (std::size_t way = 0; way < 2; ++way) {
            for (std::size_t i = 0; i < examples * positions_; ++i)
                std::copy_n(y_gradient + (2 * i + way) * hidden_, hidden_, part_.data() + i * hidden_);
            float* const beside = x_gradient != nullptr ? beside_.data() : nullptr;
            directions_[way]->backward(pass, op, x, part_.data(), way == 0 ? x_gradient : beside, examples);
        }
        if (x_gradient != nullptr)
            pass.kernels->add(x_gradient, beside_.data(), x_gradient, examples * positions_ * in_, false);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const {
        for (const auto& direction : directions_) direction->fused_parameters(ranges);
    }

private:
    Directions directions_;
    std::size_t positions_, in_, hidden_;
    Floats joined_;  // h of both ways, [examples][positions][2 · hidden]
    Floats part_;    // one way's part of its gradient, [examples][positions][hidden]
    Floats beside_;  // the second way's x_gradient
};

class Recurrent final : public Op {
public:
    /// drop: between levels
    Recurrent(std::size_t positions, std::size_t in, std::size_t hidden, bool all_positions, Drop drop,
              std::vector<RecurrentLevel> levels)
        : Op(positions * in, (all_positions ? positions : 1) * hidden * (levels.front().both_ways() ? 2 : 1)),
          positions_(positions),
          hidden_(hidden),
          ways_(levels.front().both_ways() ? 2 : 1),
          all_positions_(all_positions),
          drop_(drop),
          levels_(std::move(levels)) {}

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t) override {
        for (RecurrentLevel& level : levels_) level.reserve(examples);
        for (Floats& each : gradients_) each.resize(examples * of_example());
        dropped_.resize(drop_.p > 0.0 ? levels_.size() - 1 : 0);
        for (Floats& each : dropped_) each.resize(examples * of_example());
    }
    void begin(const Pass& pass) override {
        for (RecurrentLevel& level : levels_) level.begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t i = 0; i < levels_.size(); ++i) {
            x = levels_[i].forward(pass, x, rows.count);
            if (!drops(pass, i)) continue;
            drop(pass, i, x, dropped_[i].data(), rows);
            x = dropped_[i].data();
        }
        if (all_positions_) {
            std::copy_n(x, rows.count * outputs(), y);
            return;
        }
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t way = 0; way < ways_; ++way)
                std::copy_n(x + last_of(r, way), hidden_, y + r * outputs() + way * hidden_);
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const float* gradient = flow.y_gradient;
        if (!all_positions_) {
            Floats& last = gradients_[levels_.size() % 2];
            std::fill(last.begin(), last.end(), 0.0F);
            for (std::size_t r = 0; r < rows.count; ++r)
                for (std::size_t way = 0; way < ways_; ++way)
                    std::copy_n(flow.y_gradient + r * outputs() + way * hidden_, hidden_, last.data() + last_of(r, way));
            gradient = last.data();
        }
        for (std::size_t i = levels_.size(); i-- > 0;) {
            float* to = i == 0 ? flow.x_gradient : gradients_[i % 2].data();
            const float* x = i == 0 ? flow.x : drops(pass, i - 1) ? dropped_[i - 1].data() : levels_[i - 1].output();
            levels_[i].backward(pass, this, x, gradient, to, rows.count);
            if (i > 0 && drops(pass, i - 1)) drop(pass, i - 1, to, to, rows);
            gradient = to;
        }
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override {
        for (const RecurrentLevel& level : levels_) level.fused_parameters(ranges);
    }

private:
    std::size_t of_example() const { return positions_ * ways_ * hidden_; }

    /// Whether dropout acts on the outputs of a level.
    bool drops(const Pass& pass, std::size_t level) const {
        return drop_.p > 0.0 && pass.training && level + 1 < levels_.size();
    }

    /// Each level has a dropout number of its own.
    void drop(const Pass& pass, std::size_t level, const float* x, float* y, ExampleRange rows) const {
        const Drop of_level{drop_.p, drop_.number + static_cast<std::uint32_t>(level)};
        drop_values(pass, x, y, rows.count * of_example(), of_level, rows.first * of_example());
    }

    /// Offset, among the states of all positions, of example r's state after the last step of direction `way`.
    std::size_t last_of(std::size_t r, std::size_t way) const {
        return r * of_example() + (way == 0 ? positions_ - 1 : 0) * ways_ * hidden_ + way * hidden_;
    }

    std::size_t positions_, hidden_, ways_;
    bool all_positions_;
    Drop drop_;
    std::vector<RecurrentLevel> levels_;
    std::vector<Floats> dropped_;  // of each level but the last, like gradients_
    Floats gradients_[2];          // of h between layers, [examples][positions][ways · hidden]
};

}  // namespace

Made make_recurrent(const Making& m, std::unique_ptr<RecurrentLayer> (*make)(const RecurrentTerms& terms)) {
    const std::size_t hidden = argument(m.layer, "hidden"), ways = m.layer.arguments.flag("bidirectional") ? 2 : 1;
    const auto positions = static_cast<std::size_t>(m.layer.in[0]), inputs = static_cast<std::size_t>(m.layer.in[1]);
    std::vector<RecurrentLevel> levels;
    for (std::size_t layer = 0; layer < argument(m.layer, "layers"); ++layer) {
        const std::size_t in = layer == 0 ? inputs : ways * hidden;
        Directions directions;
        for (std::size_t way = 0; way < ways; ++way) {
            const auto place = [&](const char* of) {
                const std::string end = fmt::format("_{}_l{}{}", of, layer, way == 0 ? "" : "_reverse");
                return TensorOffsets{m.planner.place_of(m.layer, "weight" + end), m.planner.place_of(m.layer, "bias" + end)};
            };
            directions.push_back(make({.positions = positions,
                                       .in = in,
                                       .hidden = hidden,
                                       .backwards = way > 0,
                                       .place = {place("ih"), place("hh")}}));
        }
        levels.emplace_back(std::move(directions), positions, in, hidden);
    }
    const Drop drop = levels.size() > 1 ? m.planner.inner_drop(m.layer, levels.size() - 1) : Drop{};
    return Made{std::make_unique<Recurrent>(positions, inputs, hidden, m.layer.arguments.flag("all_positions"), drop,
                                            std::move(levels))};
}

}  // namespace fedhive::clients::direct
