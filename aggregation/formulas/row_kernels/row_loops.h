// The loops for the instruction set of the including file, in a namespace of that set (kernels/vector_loops.h).
//
//   Order    each example alone, a whole vector by ascending column: the same bits for any set and any place among the lanes. Sums over
//            columns are f64, rounded to f32 at the end.
#pragma once

#include "aggregation/formulas/elements.h"
#include "aggregation/formulas/row_kernels.h"

#include <utility>

namespace fedhive::aggregation::formulas::FEDHIVE_FORMULA_SET {

#define FEDHIVE_ROW_LANES _Pragma("GCC ivdep") for (std::size_t l = 0; l < kRowLanes; ++l)
#define FEDHIVE_ROW_INLINE inline __attribute__((always_inline))

template <Opcode O>
FEDHIVE_ROW_INLINE float row_of_one(float a) {
    if constexpr (O == Opcode::LogSigmoid)
        return of_two<Opcode::Minimum>(a, 0.0F) - logarithm(1.0F + exponential(-std::fabs(a)));
    else
        return of_one<O>(a);
}

/// d out / d a.
template <Opcode O>
FEDHIVE_ROW_INLINE float row_slope(float a, float out) {
    if constexpr (O == Opcode::Negative) return -1.0F;
    if constexpr (O == Opcode::Sqrt) return 0.5F / out;
    if constexpr (O == Opcode::Abs) return of_one<Opcode::Sign>(a);
    if constexpr (O == Opcode::Exp) return out;
    if constexpr (O == Opcode::Log) return 1.0F / a;
    if constexpr (O == Opcode::Tanh) return 1.0F - out * out;
    if constexpr (O == Opcode::Sigmoid) return out * (1.0F - out);
    if constexpr (O == Opcode::Relu) return a > 0.0F ? 1.0F : 0.0F;
    if constexpr (O == Opcode::LogSigmoid) return 1.0F / (1.0F + exponential(a));
}

template <Opcode O>
void row_one(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        float* const out = t.out + c * t.out_step;
        const float* const a = t.operands[0] + c * t.steps[0];
        FEDHIVE_ROW_LANES out[l] = row_of_one<O>(a[l]);
    }
}

template <Opcode O>
void row_one_back(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float *const a = t.operands[0] + c * t.steps[0], *const out = t.value + c * t.out_step;
        const float* const gradient = t.gradient + c * t.out_step;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] += gradient[l] * row_slope<O>(a[l], out[l]);
    }
}

template <Opcode O>
void row_two(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        float* const out = t.out + c * t.out_step;
        const float *const a = t.operands[0] + c * t.steps[0], *const b = t.operands[1] + c * t.steps[1];
        FEDHIVE_ROW_LANES out[l] = of_two<O>(a[l], b[l]);
    }
}

/// gradient * d out / d operand `Side`.
template <Opcode O, int Side>
FEDHIVE_ROW_INLINE float row_part(float gradient, float a, float b, float out) {
    if constexpr (O == Opcode::Add) return gradient;
    if constexpr (O == Opcode::Subtract) return Side == 0 ? gradient : -gradient;
    if constexpr (O == Opcode::Multiply) return gradient * (Side == 0 ? b : a);
    if constexpr (O == Opcode::Divide) return Side == 0 ? gradient / b : -(gradient * out / b);
    if constexpr (O == Opcode::Minimum) return (a < b) == (Side == 0) ? gradient : 0.0F;
    if constexpr (O == Opcode::Maximum) return (a > b) == (Side == 0) ? gradient : 0.0F;
}

template <Opcode O, int Side>
void row_two_back(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float *const a = t.operands[0] + c * t.steps[0], *const b = t.operands[1] + c * t.steps[1];
        const float *const out = t.value + c * t.out_step, *const gradient = t.gradient + c * t.out_step;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] += row_part<O, Side>(gradient[l], a[l], b[l], out[l]);
    }
}

static void row_where(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        float* const out = t.out + c * t.out_step;
        const float* const condition = t.operands[0] + c * t.steps[0];
        const float *const then = t.operands[1] + c * t.steps[1], *const otherwise = t.operands[2] + c * t.steps[2];
        FEDHIVE_ROW_LANES {
            const float one = then[l], other = otherwise[l];
            out[l] = condition[l] != 0.0F ? one : other;
        }
    }
}

template <int Side>
void row_where_back(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float *const condition = t.operands[0] + c * t.steps[0], *const gradient = t.gradient + c * t.out_step;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES {
            const float passed = gradient[l];
            to[l] += (condition[l] != 0.0F) == (Side == 1) ? passed : 0.0F;
        }
    }
}

/// a^exponent, a number of the whole visit: a whole exponent of at most 64 multiplies, any other gives exp(exponent * log(a)).
FEDHIVE_ROW_INLINE void row_powers(float (&powers)[kRowLanes], const float* a, float exponent) {
    const float size = std::fabs(exponent);
    if (size != std::floor(size) || size > 64.0F) {
        FEDHIVE_ROW_LANES powers[l] = exponential(exponent * logarithm(a[l]));
        return;
    }
    for (float& power : powers) power = 1.0F;
    for (int left = static_cast<int>(size); left > 0; --left) FEDHIVE_ROW_LANES powers[l] *= a[l];
    if (exponent < 0.0F)
        for (float& power : powers) power = 1.0F / power;
}

static void row_power(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        float powers[kRowLanes];
        row_powers(powers, t.operands[0] + c * t.steps[0], *t.operands[1]);
        float* const out = t.out + c * t.out_step;
        FEDHIVE_ROW_LANES out[l] = powers[l];
    }
}

static void row_power_back(const RowTerms& t) {
    const float exponent = *t.operands[1];
    for (std::size_t c = 0; c < t.columns; ++c) {
        float powers[kRowLanes];
        row_powers(powers, t.operands[0] + c * t.steps[0], exponent - 1.0F);
        const float* const gradient = t.gradient + c * t.out_step;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] += gradient[l] * (exponent * powers[l]);
    }
}

/// Σ over columns of a, or of a * b.
FEDHIVE_ROW_INLINE void row_sums(double (&sums)[kRowLanes], const float* a, const float* b, std::size_t columns) {
    for (double& sum : sums) sum = 0.0;
    for (std::size_t c = 0; c < columns; ++c, a += kRowLanes) {
        if (b == nullptr) {
            FEDHIVE_ROW_LANES sums[l] += static_cast<double>(a[l]);
        } else {
            FEDHIVE_ROW_LANES sums[l] += static_cast<double>(a[l]) * static_cast<double>(b[l]);
            b += kRowLanes;
        }
    }
}

template <Opcode O>
void row_reduce(const RowTerms& t) {
    double sums[kRowLanes];
    row_sums(sums, t.operands[0], O == Opcode::Dot ? t.operands[1] : O == Opcode::Norm ? t.operands[0] : nullptr, t.columns);
    const double divisor = O == Opcode::Mean ? static_cast<double>(t.columns) : 1.0;
    FEDHIVE_ROW_LANES t.out[l] = static_cast<float>(O == Opcode::Norm ? std::sqrt(sums[l]) : sums[l] / divisor);
}

template <Opcode O, int Side>
void row_reduce_back(const RowTerms& t) {
    float factor[kRowLanes];
    const float divisor = O == Opcode::Mean ? static_cast<float>(t.columns) : 1.0F;
    FEDHIVE_ROW_LANES {
        const float own = O == Opcode::Norm ? t.value[l] : divisor;
        factor[l] = own > 0.0F ? t.gradient[l] / own : 0.0F;
    }
    for (std::size_t c = 0; c < t.columns; ++c) {
        float* const to = t.to + c * t.to_step;
        if constexpr (O == Opcode::Dot || O == Opcode::Norm) {
            const float* const other = t.operands[O == Opcode::Norm || Side == 1 ? 0 : 1] + c * kRowLanes;
            FEDHIVE_ROW_LANES to[l] += factor[l] * other[l];
        } else {
            FEDHIVE_ROW_LANES to[l] += factor[l];
        }
    }
}

template <Opcode O>
FEDHIVE_ROW_INLINE void row_extremes(float (&found)[kRowLanes], const float* a, std::size_t columns) {
    FEDHIVE_ROW_LANES found[l] = a[l];
    for (std::size_t c = 1; c < columns; ++c) {
        a += kRowLanes;
        FEDHIVE_ROW_LANES found[l] = of_two<O>(a[l], found[l]);
    }
}

template <Opcode O>
void row_extreme(const RowTerms& t) {
    float found[kRowLanes];
    row_extremes<O>(found, t.operands[0], t.columns);
    FEDHIVE_ROW_LANES t.out[l] = found[l];
}

/// Adds the gradient of min or max to its column; of equal columns, to the first.
static void row_extreme_back(const RowTerms& t) {
    float left[kRowLanes];
    FEDHIVE_ROW_LANES left[l] = t.gradient[l];
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float* const a = t.operands[0] + c * kRowLanes;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES {
            const float passed = a[l] == t.value[l] ? left[l] : 0.0F;
            to[l] += passed;
            left[l] -= passed;
        }
    }
}

/// largest = the largest of the columns; totals = Σ exp(a - largest).
FEDHIVE_ROW_INLINE void row_totals(float (&largest)[kRowLanes], float (&totals)[kRowLanes], const float* a,
                                   std::size_t columns) {
    row_extremes<Opcode::Maximum>(largest, a, columns);
    double sums[kRowLanes];
    for (double& sum : sums) sum = 0.0;
    for (std::size_t c = 0; c < columns; ++c, a += kRowLanes)
        FEDHIVE_ROW_LANES sums[l] += static_cast<double>(exponential(a[l] - largest[l]));
    FEDHIVE_ROW_LANES totals[l] = static_cast<float>(sums[l]);
}

template <Opcode O>
void row_soft(const RowTerms& t) {
    float largest[kRowLanes], totals[kRowLanes];
    row_totals(largest, totals, t.operands[0], t.columns);
    if constexpr (O == Opcode::LogSumExp) {
        FEDHIVE_ROW_LANES t.out[l] = largest[l] + logarithm(totals[l]);
        return;
    }
    if constexpr (O == Opcode::LogSoftmax)
        for (float& total : totals) total = logarithm(total);
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float* const a = t.operands[0] + c * kRowLanes;
        float* const out = t.out + c * t.out_step;
        FEDHIVE_ROW_LANES {
            const float shifted = a[l] - largest[l];
            out[l] = O == Opcode::LogSoftmax ? shifted - totals[l] : exponential(shifted) / totals[l];
        }
    }
}

static void row_log_sum_exp_back(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float* const a = t.operands[0] + c * kRowLanes;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] += t.gradient[l] * exponential(a[l] - t.value[l]);
    }
}

template <Opcode O>
void row_soft_back(const RowTerms& t) {
    double sums[kRowLanes];
    row_sums(sums, t.gradient, O == Opcode::Softmax ? t.value : nullptr, t.columns);
    float total[kRowLanes];
    FEDHIVE_ROW_LANES total[l] = static_cast<float>(sums[l]);
    for (std::size_t c = 0; c < t.columns; ++c) {
        const float *const out = t.value + c * t.out_step, *const gradient = t.gradient + c * t.out_step;
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] +=
            O == Opcode::Softmax ? out[l] * (gradient[l] - total[l]) : gradient[l] - exponential(out[l]) * total[l];
    }
}

FEDHIVE_ROW_INLINE std::size_t row_place(const RowTerms& t, std::size_t l) {
    return static_cast<std::size_t>(t.operands[1][l]) * kRowLanes + l;
}

static void row_pick(const RowTerms& t) {
    for (std::size_t l = 0; l < kRowLanes; ++l) t.out[l] = t.operands[0][row_place(t, l)];
}

static void row_pick_back(const RowTerms& t) {
    for (std::size_t l = 0; l < kRowLanes; ++l) t.to[row_place(t, l)] += t.gradient[l];
}

static void row_one_hot(const RowTerms& t) {
    for (std::size_t c = 0; c < t.columns; ++c) {
        float* const out = t.out + c * t.out_step;
        const auto own = static_cast<float>(c);
        FEDHIVE_ROW_LANES out[l] = t.operands[0][l] == own ? 1.0F : 0.0F;
    }
}

/// out = the table's row of the label.
static void row_pick_row(const RowTerms& t) {
    for (std::size_t l = 0; l < kRowLanes; ++l) {
        const float* const row = t.operands[0] + static_cast<std::size_t>(t.operands[1][l]) * t.width;
        for (std::size_t c = 0; c < t.columns; ++c) t.out[c * t.out_step + l] = row[c];
    }
}

/// out[row] = inner product of the table's row with a vector.
static void row_dot_rows(const RowTerms& t) {
    for (std::size_t row = 0; row < t.columns; ++row) {
        const float *table = t.operands[1] + row * t.width, *a = t.operands[0];
        double sums[kRowLanes] = {};
        for (std::size_t c = 0; c < t.width; ++c, a += t.steps[0]) {
            const auto value = static_cast<double>(table[c]);
            FEDHIVE_ROW_LANES sums[l] += static_cast<double>(a[l]) * value;
        }
        float* const out = t.out + row * t.out_step;
        FEDHIVE_ROW_LANES out[l] = static_cast<float>(sums[l]);
    }
}

static void row_dot_rows_back(const RowTerms& t) {
    for (std::size_t c = 0; c < t.width; ++c) {
        const float *table = t.operands[1] + c, *gradient = t.gradient;
        double sums[kRowLanes] = {};
        for (std::size_t row = 0; row < t.columns; ++row, table += t.width, gradient += t.out_step) {
            const auto value = static_cast<double>(*table);
            FEDHIVE_ROW_LANES sums[l] += static_cast<double>(gradient[l]) * value;
        }
        float* const to = t.to + c * t.to_step;
        FEDHIVE_ROW_LANES to[l] += static_cast<float>(sums[l]);
    }
}

/// out[row] = norm of the table's row.
static void row_norm_rows(const RowTerms& t) {
    for (std::size_t row = 0; row < t.columns; ++row) {
        const float* const table = t.operands[0] + row * t.width;
        double sum = 0.0;
        for (std::size_t c = 0; c < t.width; ++c) sum += static_cast<double>(table[c]) * static_cast<double>(table[c]);
        const auto norm = static_cast<float>(std::sqrt(sum));
        float* const out = t.out + row * t.out_step;
        FEDHIVE_ROW_LANES out[l] = norm;
    }
}

template <std::size_t... I>
constexpr void put_row_elements(RowLoops& loops, std::index_sequence<I...>) {
    const auto put = [&loops]<Opcode O>(std::integral_constant<Opcode, O>) {
        constexpr std::size_t kAt = index_of(O);
        if constexpr (is_of_two(O)) {
            loops.forward[kAt] = row_two<O>;
            if constexpr (O < Opcode::Less) loops.backward[kAt] = {row_two_back<O, 0>, row_two_back<O, 1>, nullptr};
        } else {
            loops.forward[kAt] = row_one<O>;
            if constexpr (O != Opcode::Sign && O != Opcode::Floor) loops.backward[kAt] = {row_one_back<O>, nullptr, nullptr};
        }
    };
    (put(std::integral_constant<Opcode, static_cast<Opcode>(I)>()), ...);
}

constexpr RowLoops row_loops_named(std::string_view name) {
    RowLoops loops{name, {}, {}};
    put_row_elements(loops, std::make_index_sequence<kOpsOfTwo + kOpsOfOne>());
    const auto put = [&loops](Opcode op, RowLoop forward, RowLoop first, RowLoop second = nullptr, RowLoop third = nullptr) {
        loops.forward[index_of(op)] = forward;
        loops.backward[index_of(op)] = {first, second, third};
    };
    put(Opcode::Where, row_where, nullptr, row_where_back<1>, row_where_back<2>);
    put(Opcode::Power, row_power, row_power_back);
    put(Opcode::Sum, row_reduce<Opcode::Sum>, row_reduce_back<Opcode::Sum, 0>);
    put(Opcode::Mean, row_reduce<Opcode::Mean>, row_reduce_back<Opcode::Mean, 0>);
    put(Opcode::Dot, row_reduce<Opcode::Dot>, row_reduce_back<Opcode::Dot, 0>, row_reduce_back<Opcode::Dot, 1>);
    put(Opcode::LogSigmoid, row_one<Opcode::LogSigmoid>, row_one_back<Opcode::LogSigmoid>);
    put(Opcode::Norm, row_reduce<Opcode::Norm>, row_reduce_back<Opcode::Norm, 0>);
    put(Opcode::Largest, row_extreme<Opcode::Maximum>, row_extreme_back);
    put(Opcode::Smallest, row_extreme<Opcode::Minimum>, row_extreme_back);
    put(Opcode::LogSumExp, row_soft<Opcode::LogSumExp>, row_log_sum_exp_back);
    put(Opcode::Softmax, row_soft<Opcode::Softmax>, row_soft_back<Opcode::Softmax>);
    put(Opcode::LogSoftmax, row_soft<Opcode::LogSoftmax>, row_soft_back<Opcode::LogSoftmax>);
    put(Opcode::Pick, row_pick, row_pick_back);
    put(Opcode::OneHot, row_one_hot, nullptr);
    put(Opcode::PickRow, row_pick_row, nullptr);
    put(Opcode::DotRows, row_dot_rows, row_dot_rows_back);
    put(Opcode::NormRows, row_norm_rows, nullptr);
    return loops;
}

}  // namespace fedhive::aggregation::formulas::FEDHIVE_FORMULA_SET
