// The part of LSTM and GRU along a sequence, in one direction, behind the product with its input; formulas of ops/lstm.cpp, ops/gru.cpp. C++17.
//
// Values   in: W_ih x + b_ih at each position, [positions][kGates · hidden], which become the gates, then their gradients
//          out: the states, a position's first one `pitch` after that of the position before
// Figures  at other_at, [positions][hidden] each unless noted: the states; what a unit keeps; then [hidden] of one step's gradients
// Order    a barrier a step. Backward along the steps is part of parameter_gradient(), which needs its result.
#pragma once

#include "clients/direct/device/layers.h"

namespace fedhive::clients::direct::device {

/// 1 / (1 + e^-x) by e^-|x|, which never overflows.
FEDHIVE_HOST_DEVICE float sigmoid(float x) {
    const float power = exponential(x <= 0.0F ? x : 0.0F - x);
    return (x <= 0.0F ? power : 1.0F) / (1.0F + power);
}

/// Where one unit's numbers lie at a step.
struct UnitPlace {
    FEDHIVE_HOST_DEVICE UnitPlace(const Layer& layer, float* values, std::uint32_t gates, std::uint32_t step,
                                  std::uint32_t unit)
        : hidden(layer.hidden),
          at(layer.backwards != 0 ? layer.positions - 1 - step : step),
          c(unit),
          gate(values + layer.in_at + static_cast<std::size_t>(at) * gates * hidden),
          figures(values + layer.other_at),
          out(values + layer.out_at + static_cast<std::size_t>(at) * layer.pitch),
          square(layer.positions * hidden) {}

    /// The unit's k-th gate.
    FEDHIVE_HOST_DEVICE float& of(std::uint32_t k) const { return gate[k * hidden + c]; }
    /// The unit's number of the k-th figures of all positions.
    FEDHIVE_HOST_DEVICE float& figure(std::uint32_t k) const { return figures[k * square + at * hidden + c]; }
    /// The unit's number of one step, behind the `k` figures of all positions.
    FEDHIVE_HOST_DEVICE float& carried(std::uint32_t k) const { return figures[k * square + c]; }
    FEDHIVE_HOST_DEVICE void take(float state) const {
        figure(0) = state;
        out[c] = state;
    }

    std::uint32_t hidden, at, c;
    float *gate, *figures, *out;
    std::uint32_t square;
};

struct LstmUnit {
    static constexpr std::uint32_t kGates = 4, kKept = 3;  // kept: states, cells, tanh of the cells
    static constexpr bool kSeparate = false;

    /// sums: of the gates i f g o with the state before. before: at the step before; null: 0.
    FEDHIVE_HOST_DEVICE static float forward(const UnitPlace& to, const UnitPlace* before, const float* sums) {
        float gates[kGates];
        for (std::uint32_t k = 0; k < kGates; ++k) {
            const float sum = to.of(k) + sums[k];
            gates[k] = k == 2 ? tangent(sum) : sigmoid(sum);
            to.of(k) = gates[k];
        }
        float cell = gates[0] * gates[2];
        if (before != nullptr) cell = fused(gates[1], before->figure(1), cell);
        to.figure(1) = cell;
        to.figure(2) = tangent(cell);
        return gates[3] * to.figure(2);
    }

    /// state: its gradient. carried(): that of the cell, from later steps.
    FEDHIVE_HOST_DEVICE static void backward(const UnitPlace& to, const UnitPlace* before, float state, bool last) {
        const float i = to.of(0), f = to.of(1), g = to.of(2), o = to.of(3), bounded = to.figure(2);
        const float cell = (last ? 0.0F : to.carried(kKept)) + state * o * (1.0F - bounded * bounded);
        to.of(0) = cell * g * (i * (1.0F - i));
        to.of(1) = cell * (before != nullptr ? before->figure(1) : 0.0F) * (f * (1.0F - f));
        to.of(2) = cell * i * (1.0F - g * g);
        to.of(3) = state * bounded * (o * (1.0F - o));
        to.carried(kKept) = cell * f;
    }
};

struct GruUnit {
    static constexpr std::uint32_t kGates = 3, kKept = 2;  // kept: states, m
    static constexpr bool kSeparate = true;  // the third gate's product with the state has a gradient of its own, m's

    /// sums: r' z' m of the state before.
    FEDHIVE_HOST_DEVICE static float forward(const UnitPlace& to, const UnitPlace* before, const float* sums) {
        const float r = sigmoid(to.of(0) + sums[0]), z = sigmoid(to.of(1) + sums[1]), n = tangent(fused(r, sums[2], to.of(2)));
        to.of(0) = r;
        to.of(1) = z;
        to.of(2) = n;
        to.figure(1) = sums[2];
        return fused(z, (before != nullptr ? before->figure(0) : 0.0F) - n, n);
    }

    /// carried(): the gradient that the state before gets beside that of the product.
    FEDHIVE_HOST_DEVICE static void backward(const UnitPlace& to, const UnitPlace* before, float state, bool last) {
        if (!last) state += to.carried(kKept);
        const float r = to.of(0), z = to.of(1), n = to.of(2), m = to.figure(1);
        const float of_n = state * (1.0F - z) * (1.0F - n * n);
        to.of(0) = of_n * m * (r * (1.0F - r));
        to.of(1) = state * ((before != nullptr ? before->figure(0) : 0.0F) - n) * (z * (1.0F - z));
        to.of(2) = of_n;
        to.figure(1) = of_n * r;
        to.carried(kKept) = state * z;
    }
};

template <typename Unit>
struct RecurrentLayer : NoPasses {
    /// Floats of the figures.
    FEDHIVE_HOST_DEVICE static std::uint32_t figures_of(std::uint32_t positions, std::uint32_t hidden) {
        return (Unit::kKept * positions + 1) * hidden;
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads& threads, const Layer& layer, const RowGroup& group,
                                            const float* parameters) {
        for (std::uint32_t step = 0; step < layer.positions; ++step)
            for_each_of_rows(threads, group, layer.hidden, [&](float* values, std::uint32_t c, std::uint32_t) {
                const UnitPlace to(layer, values, Unit::kGates, step, c);
                float sums[Unit::kGates];
                for (std::uint32_t k = 0; k < Unit::kGates; ++k) sums[k] = parameters[layer.bias + k * layer.hidden + c];
                if (step == 0) return to.take(Unit::forward(to, nullptr, sums));
                const UnitPlace before(layer, values, Unit::kGates, step - 1, c);
                const float* const states = before.figures + before.at * layer.hidden;
                for (std::uint32_t k = 0; k < Unit::kGates; ++k) {
                    const float* const w = row_of(layer, parameters, k * layer.hidden + c);
                    for (std::uint32_t i = 0; i < layer.hidden; ++i) sums[k] = fused(states[i], w[i], sums[k]);
                }
                to.take(Unit::forward(to, &before, sums));
            });
    }

    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads& threads, const Layer& layer, const RowGroup& group,
                                                       const Gradients& to) {
        for (std::uint32_t step = layer.positions; step-- > 0;) back(threads, layer, group, to.parameters, step);
        const std::uint32_t hidden = layer.hidden, columns = Unit::kGates * hidden;
        for_each(threads, columns * hidden, [&](std::uint32_t e) {
            const std::uint32_t column = e / hidden, i = e - column * hidden;
            float sum = to.sums[layer.weight + e];
            for (std::uint32_t r = 0; r < group.rows; ++r) {
                float* const values = group.values + static_cast<std::size_t>(r) * group.row;
                for (std::uint32_t step = 1; step < layer.positions; ++step)
                    sum = fused(of_product(UnitPlace(layer, values, Unit::kGates, step, column % hidden), column / hidden),
                                UnitPlace(layer, values, Unit::kGates, step - 1, i).figure(0), sum);
            }
            to.sums[layer.weight + e] = sum;
        });
        for_each(threads, columns, [&](std::uint32_t column) {
            float sum = to.sums[layer.bias + column];
            for (std::uint32_t r = 0; r < group.rows; ++r)
                for (std::uint32_t step = 0; step < layer.positions; ++step)
                    sum += of_product(UnitPlace(layer, group.values + static_cast<std::size_t>(r) * group.row, Unit::kGates,
                                                step, column % hidden),
                                      column / hidden);
            to.sums[layer.bias + column] = sum;
        });
    }

private:
    FEDHIVE_HOST_DEVICE static const float* row_of(const Layer& layer, const float* parameters, std::uint32_t column) {
        return parameters + layer.weight + static_cast<std::size_t>(column) * layer.hidden;
    }

    /// The gradient of a unit's k-th product with the state before.
    FEDHIVE_HOST_DEVICE static float of_product(const UnitPlace& unit, std::uint32_t k) {
        return Unit::kSeparate && k == Unit::kGates - 1 ? unit.figure(Unit::kKept - 1) : unit.of(k);
    }

    /// The gradients of a step's gates, from those of the step behind it.
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void back(const Threads& threads, const Layer& layer, const RowGroup& group,
                                         const float* parameters, std::uint32_t step) {
        const bool last = step + 1 == layer.positions;
        for_each_of_rows(threads, group, layer.hidden, [&](float* values, std::uint32_t c, std::uint32_t) {
            const UnitPlace to(layer, values, Unit::kGates, step, c);
            float state = to.out[c];
            if (!last) {
                float sum = 0.0F;
                for (std::uint32_t k = 0; k < Unit::kGates; ++k)
                    for (std::uint32_t i = 0; i < layer.hidden; ++i)
                        sum = fused(of_product(UnitPlace(layer, values, Unit::kGates, step + 1, i), k),
                                    row_of(layer, parameters, k * layer.hidden + i)[c], sum);
                state += sum;
            }
            if (step == 0) return Unit::backward(to, nullptr, state, last);
            const UnitPlace before(layer, values, Unit::kGates, step - 1, c);
            Unit::backward(to, &before, state, last);
        });
    }
};

using LstmLayer = RecurrentLayer<LstmUnit>;
using GruLayer = RecurrentLayer<GruUnit>;

}  // namespace fedhive::clients::direct::device
