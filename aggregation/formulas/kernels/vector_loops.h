// Elementwise loops out[i] = op(a[i], b[i], c[i]), and a sum of products, for the instruction set of the file that includes this one. All
// of it is in a namespace of that set: the linker merges inline functions of one name, and could so run code for one processor on another.
#pragma once

#include "aggregation/formulas/elements.h"
#include "aggregation/formulas/vector_kernels.h"

#include <utility>

namespace fedhive::aggregation::formulas::FEDHIVE_FORMULA_SET {

/// Value of an operand at element i. Bit `Operand` of Kinds says what the operand is: 1 a number for all elements, 0 a vector.
template <int Kinds, int Operand>
inline __attribute__((always_inline)) float take(const float* values, float number, std::size_t i) {
    return (Kinds >> Operand & 1) != 0 ? number : values[i];
}

template <Opcode O>
void loop_of_one(float* out, const float* a, const float*, const float*, std::size_t count) {
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < count; ++i) out[i] = of_one<O>(a[i]);
}

template <Opcode O, int Kinds>
void loop_of_two(float* out, const float* a, const float* b, const float*, std::size_t count) {
    const float first = *a, second = *b;
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < count; ++i) out[i] =
        of_two<O>(take<Kinds, 0>(a, first, i), take<Kinds, 1>(b, second, i));
}

template <Opcode Inner, Opcode Outer, bool Swapped, int Kinds>
void loop_of_pair(float* out, const float* a, const float* b, const float* c, std::size_t count) {
    const float first = *a, second = *b, third = *c;
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < count; ++i) {
        const float inner = of_two<Inner>(take<Kinds, 0>(a, first, i), take<Kinds, 1>(b, second, i));
        const float other = take<Kinds, 2>(c, third, i);
        out[i] = Swapped ? of_two<Outer>(other, inner) : of_two<Outer>(inner, other);
    }
}

template <int Kinds>
void loop_of_where(float* out, const float* a, const float* b, const float* c, std::size_t count) {
    const float first = *a, second = *b, third = *c;
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < count; ++i) {
        const float then = take<Kinds, 1>(b, second, i), otherwise = take<Kinds, 2>(c, third, i);
        out[i] = take<Kinds, 0>(a, first, i) != 0.0F ? then : otherwise;
    }
}

/// lanes[i mod kLanes] += a[i] * b[i]; without b (nullptr) += a[i].
static void add_products(double* lanes, const float* a, const float* b, std::size_t count) {
    constexpr std::size_t kLanes = element::kLanes;
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] += static_cast<double>(a[i + lane]) * (b == nullptr ? 1.0 : static_cast<double>(b[i + lane]));
    for (std::size_t lane = 0; i + lane < count; ++lane)
        lanes[lane] += static_cast<double>(a[i + lane]) * (b == nullptr ? 1.0 : static_cast<double>(b[i + lane]));
}

template <std::size_t... I>
constexpr std::array<Loop, sizeof...(I)> loops_of_one(std::index_sequence<I...>) {
    return {loop_of_one<static_cast<Opcode>(kOpsOfTwo + I)>...};
}
template <std::size_t... I>
constexpr std::array<Loop, sizeof...(I)> loops_of_two(std::index_sequence<I...>) {
    return {loop_of_two<static_cast<Opcode>(I / 4), static_cast<int>(I % 4)>...};
}
template <std::size_t... I>
constexpr std::array<Loop, sizeof...(I)> loops_of_pairs(std::index_sequence<I...>) {
    return {loop_of_pair<static_cast<Opcode>(I / (kOpsPairable * 16)), static_cast<Opcode>(I / 16 % kOpsPairable),
                         (I / 8 % 2) != 0, static_cast<int>(I % 8)>...};
}
template <std::size_t... I>
constexpr std::array<Loop, sizeof...(I)> loops_of_where(std::index_sequence<I...>) {
    return {loop_of_where<static_cast<int>(I)>...};
}

constexpr Loops loops_named(std::string_view name) {
    return {name,
            loops_of_one(std::make_index_sequence<kOpsOfOne>()),
            loops_of_two(std::make_index_sequence<kOpsOfTwo * 4>()),
            loops_of_pairs(std::make_index_sequence<kOpsPairable * kOpsPairable * 16>()),
            loops_of_where(std::make_index_sequence<8>()),
            add_products};
}

}  // namespace fedhive::aggregation::formulas::FEDHIVE_FORMULA_SET
