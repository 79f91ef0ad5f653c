// Kernels of one position of an LSTM or a GRU, forward and backward (sequence_terms.h).
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

/// 1 / (1 + e^-x) by e^-|x|, which never overflows.
template <std::size_t kCount>
FEDHIVE_INLINE void sigmoids(Lanes (&values)[kCount]) {
    const auto each = [](auto f) __attribute__((always_inline)) { for_each_of<kCount>(f); };
    Lanes power[kCount];
    each([&](std::size_t i) __attribute__((always_inline)) {
        power[i] = choose(not_above(values[i], zero()), values[i], sub(zero(), values[i]));
    });
    exponentials(power);
    each([&](std::size_t i) __attribute__((always_inline)) {
        const Mask negative = not_above(values[i], zero());
        values[i] = div(choose(negative, power[i], all(1.0F)), add(all(1.0F), power[i]));
    });
}
FEDHIVE_INLINE Lanes sigmoid(Lanes value) {
    Lanes one[] = {value};
    sigmoids(one);
    return one[0];
}

/// Gates first, then cells: a gate depends on no other, so that the processor works on several at once.
static void lstm_cell(const LstmCell& t) {
    for (std::size_t r = 0; r < t.rows; ++r) {
        const std::size_t at = r * t.row;
        float *input = t.gates + 4 * at, *forget = input + t.hidden, *fresh = forget + t.hidden, *output = fresh + t.hidden;
        const auto in_place = [&](float* gate, std::size_t size, auto work) __attribute__((always_inline)) {
            over_vectors(
                size, [&](std::size_t c, Mask there) __attribute__((always_inline)) { return load(gate + c, there); }, work,
                [&](std::size_t c, Lanes value, Mask there) __attribute__((always_inline)) { store(gate + c, value, there); });
        };
        const auto by_sigmoid = [](auto& values) __attribute__((always_inline)) { sigmoids(values); };
        const auto by_tanh = [](auto& values) __attribute__((always_inline)) { hyperbolics(values); };
        in_place(input, 2 * t.hidden, by_sigmoid);
        in_place(fresh, t.hidden, by_tanh);
        in_place(output, t.hidden, by_sigmoid);
        over_vectors(
            t.hidden,
            [&](std::size_t c, Mask there) __attribute__((always_inline)) {
                Lanes cell = mul(load(input + c, there), load(fresh + c, there));
                if (t.before != nullptr) cell = fma(load(forget + c, there), load(t.before + at + c, there), cell);
                store(t.cell + at + c, cell, there);
                return cell;
            },
            by_tanh,
            [&](std::size_t c, Lanes bounded, Mask there) __attribute__((always_inline)) {
                store(t.bounded + at + c, bounded, there);
                store(t.state + at + c, mul(load(output + c, there), bounded), there);
            });
    }
}

/// Fetches the next example's values into the cache, which are pages away.
static void lstm_cell_back(const LstmCellBack& t) {
    const Lanes one = all(1.0F);
    for (std::size_t r = 0; r < t.rows; ++r) {
        const std::size_t at = r * t.row, beside = r * t.hidden, next = r + 1 < t.rows ? t.row : 0;
        float *input = t.gates + 4 * at, *forget = input + t.hidden, *fresh = forget + t.hidden, *output = fresh + t.hidden;
        over_channels(
            t.hidden, [&](std::size_t c, std::size_t, Mask there) __attribute__((always_inline)) {
                FEDHIVE_UNROLL for (std::size_t gate = 0; gate < 4; ++gate)
                    __builtin_prefetch(input + gate * t.hidden + c + 4 * next, 1);
                __builtin_prefetch(t.bounded + at + c + next);
                __builtin_prefetch(t.gradient + at + c + next);
                if (t.before != nullptr) __builtin_prefetch(t.before + at + c + next);
                const Lanes i = load(input + c, there), f = load(forget + c, there), g = load(fresh + c, there),
                            o = load(output + c, there), bounded = load(t.bounded + at + c, there);
                const Lanes before = t.before != nullptr ? load(t.before + at + c, there) : zero();
                Lanes state = load(t.gradient + at + c, there);
                if (t.later != nullptr) state = add(state, load(t.later + beside + c, there));
                const Lanes open = mul(state, o);
                const Lanes cell = add(load(t.cell_gradient + beside + c, there), mul(open, sub(one, mul(bounded, bounded))));
                store(input + c, mul(mul(cell, g), mul(i, sub(one, i))), there);
                store(forget + c, mul(mul(cell, before), mul(f, sub(one, f))), there);
                store(fresh + c, mul(mul(cell, i), sub(one, mul(g, g))), there);
                store(output + c, mul(mul(state, bounded), mul(o, sub(one, o))), there);
                store(t.cell_gradient + beside + c, mul(cell, f), there);
            });
    }
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
