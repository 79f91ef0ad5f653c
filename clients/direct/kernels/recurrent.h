// Kernels of an LSTM's cell.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// 1 / (1 + e^-x) by e^-|x|, which never overflows.
FEDHIVE_INLINE Lanes sigmoid(Lanes x) {
    const Mask negative = not_above(x, zero());
    const Lanes power = exponential(choose(negative, x, sub(zero(), x)));
    return div(choose(negative, power, all(1.0F)), add(all(1.0F), power));
}

static void lstm_cell(const LstmCell& t) {
    float *input = t.gates, *forget = input + t.hidden, *fresh = forget + t.hidden, *output = fresh + t.hidden;
    over_channels(
        t.hidden, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes i = sigmoid(load(input + c, there)), f = sigmoid(load(forget + c, there)),
                        g = hyperbolic(load(fresh + c, there)), o = sigmoid(load(output + c, there));
            Lanes cell = mul(i, g);
            if (t.before != nullptr) cell = fma(f, load(t.before + c, there), cell);
            const Lanes bounded = hyperbolic(cell);
            store(input + c, i, there);
            store(forget + c, f, there);
            store(fresh + c, g, there);
            store(output + c, o, there);
            store(t.cell + c, cell, there);
            store(t.bounded + c, bounded, there);
            store(t.state + c, mul(o, bounded), there);
        });
}

static void lstm_cell_back(const LstmCellBack& t) {
    float *input = t.gates, *forget = input + t.hidden, *fresh = forget + t.hidden, *output = fresh + t.hidden;
    const Lanes one = all(1.0F);
    over_channels(
        t.hidden, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes i = load(input + c, there), f = load(forget + c, there), g = load(fresh + c, there),
                        o = load(output + c, there), bounded = load(t.bounded + c, there);
            const Lanes before = t.before != nullptr ? load(t.before + c, there) : zero();
            Lanes state = load(t.gradient + c, there);
            if (t.later != nullptr) state = add(state, load(t.later + c, there));
            const Lanes open = mul(state, o);
            const Lanes cell = add(load(t.cell_gradient + c, there), mul(open, sub(one, mul(bounded, bounded))));
            store(input + c, mul(mul(cell, g), mul(i, sub(one, i))), there);
            store(forget + c, mul(mul(cell, before), mul(f, sub(one, f))), there);
            store(fresh + c, mul(mul(cell, i), sub(one, mul(g, g))), there);
            store(output + c, mul(mul(state, bounded), mul(o, sub(one, o))), there);
            store(t.cell_gradient + c, mul(cell, f), there);
        });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
