// Kernels of one position of an LSTM or a GRU, forward and backward (sequence_terms.h).
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

static void gru_cell(const GruCell& t) {
    float *reset = t.gates, *keep = reset + t.hidden, *fresh = keep + t.hidden;
    const float *of_reset = t.of_state, *of_keep = of_reset + t.hidden, *of_fresh = of_keep + t.hidden;
    over_channels(
        t.hidden, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes r = sigmoid(add(load(reset + c, there), load(of_reset + c, there))),
                        z = sigmoid(add(load(keep + c, there), load(of_keep + c, there))),
                        n = hyperbolic(fma(r, load(of_fresh + c, there), load(fresh + c, there)));
            const Lanes before = t.before != nullptr ? load(t.before + c, there) : zero();
            store(reset + c, r, there);
            store(keep + c, z, there);
            store(fresh + c, n, there);
            store(t.state + c, fma(z, sub(before, n), n), there);
        });
}

static void gru_cell_back(const GruCellBack& t) {
    float *reset = t.gates, *keep = reset + t.hidden, *fresh = keep + t.hidden;
    float *of_reset = t.of_state, *of_keep = of_reset + t.hidden, *of_fresh = of_keep + t.hidden;
    const Lanes one = all(1.0F);
    over_channels(
        t.hidden, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
            const Lanes r = load(reset + c, there), z = load(keep + c, there), n = load(fresh + c, there),
                        m = load(of_fresh + c, there);
            const Lanes before = t.before != nullptr ? load(t.before + c, there) : zero();
            const Lanes state = add(load(t.gradient + c, there), load(t.state_gradient + c, there));
            const Lanes of_n = mul(mul(state, sub(one, z)), sub(one, mul(n, n))), of_m = mul(of_n, r);
            const Lanes of_r = mul(mul(of_n, m), mul(r, sub(one, r))),
                        of_z = mul(mul(state, sub(before, n)), mul(z, sub(one, z)));
            store(reset + c, of_r, there);
            store(of_reset + c, of_r, there);
            store(keep + c, of_z, there);
            store(of_keep + c, of_z, there);
            store(fresh + c, of_n, there);
            store(of_fresh + c, of_m, there);
            store(t.state_gradient + c, mul(state, z), there);
        });
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
