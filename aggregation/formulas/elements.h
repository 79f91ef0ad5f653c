// The operations of formulas on one element, for host and device; T is float for vectors and double for numbers. C++17. Every
// expression rounds as written, and exp and log are polynomials written here, so that all processors give the same bits.
#pragma once

#include "aggregation/formulas/opcode.h"
#include "aggregation/math/scalar_functions.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fedhive::aggregation::formulas {

/// e^x to about 2 ulp; 0 below -87, infinite above 88. Cephes' polynomial (https://www.netlib.org/cephes, expf).
FEDHIVE_HOST_DEVICE float exponential(float x) {
    const float low = x < -87.0F ? -87.0F : x, limited = low > 88.0F ? 88.0F : low;
    const float shifted = limited * 1.44269504F + 0.5F;
    auto n = static_cast<std::int32_t>(shifted);
    n = static_cast<float>(n) > shifted ? n - 1 : n;  // rounded down
    const auto whole = static_cast<float>(n);
    const float r = (limited - whole * 0.693359375F) - whole * -2.12194440e-4F;
    float y = 1.9875691500e-4F;
    y = y * r + 1.3981999507e-3F;
    y = y * r + 8.3334519073e-3F;
    y = y * r + 4.1665795894e-2F;
    y = y * r + 1.6666665459e-1F;
    y = y * r + 5.0000001201e-1F;
    y = (y * (r * r) + r) + 1.0F;
    const std::int32_t bits = (n + 127) << 23;
    float power = 0.0F;
    std::memcpy(&power, &bits, sizeof power);
    const float inside = y * power;
    return x < -87.0F ? 0.0F : x > 88.0F ? INFINITY : x != x ? x : inside;
}

/// e^x to about 2 ulp; 0 below -708, infinite above 709. Taylor's series on |r| <= ln(2) / 2.
FEDHIVE_HOST_DEVICE double exponential(double x) {
    if (x != x) return x;
    if (x < -708.0) return 0.0;
    if (x > 709.0) return static_cast<double>(INFINITY);
    const double n = std::floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double y = 1.0;
    for (int k = 14; k >= 1; --k) y = 1.0 + y * r / k;
    const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52;
    double power = 0.0;
    std::memcpy(&power, &bits, sizeof power);
    return y * power;
}

/// ln(x) to about 2 ulp; -infinity at 0, NaN below. Subnormal numbers count as 2^-126. Cephes' logf.
FEDHIVE_HOST_DEVICE float logarithm(float x) {
    constexpr float kLeast = 1.17549435e-38F;
    const float normal = x < kLeast ? kLeast : x;
    std::int32_t bits = 0;
    std::memcpy(&bits, &normal, sizeof bits);
    const std::int32_t of_mantissa = (bits & 0x007FFFFF) | 0x3F000000;  // in [0.5, 1)
    float mantissa = 0.0F;
    std::memcpy(&mantissa, &of_mantissa, sizeof mantissa);
    const auto whole = static_cast<float>((bits >> 23) - 126);
    const bool is_low = mantissa < 0.707106781F;
    const float exponent = is_low ? whole - 1.0F : whole;
    const float m = (is_low ? mantissa + mantissa : mantissa) - 1.0F;
    const float square = m * m;
    float y = 7.0376836292e-2F;
    y = y * m - 1.1514610310e-1F;
    y = y * m + 1.1676998740e-1F;
    y = y * m - 1.2420140846e-1F;
    y = y * m + 1.4249322787e-1F;
    y = y * m - 1.6668057665e-1F;
    y = y * m + 2.0000714765e-1F;
    y = y * m - 2.4999993993e-1F;
    y = y * m + 3.3333331174e-1F;
    const float inside = (m + ((y * m * square + exponent * -2.12194440e-4F) - 0.5F * square)) + exponent * 0.693359375F;
    constexpr float kInfinite = INFINITY;
    return x < 0.0F ? NAN : x == 0.0F ? -kInfinite : x < kInfinite ? inside : x;
}

/// ln(x), as above.
FEDHIVE_HOST_DEVICE double logarithm(double x) {
    constexpr auto kInfinite = static_cast<double>(INFINITY);
    if (x < 0.0) return static_cast<double>(NAN);
    if (x == 0.0) return -kInfinite;
    if (!(x < kInfinite)) return x;
    const double normal = x < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : x;
    return element::logarithm(normal);
}

/// op(a). Comparisons with 0 decide, so that sign(NaN) = relu(NaN) = 0.
template <Opcode O, typename T>
FEDHIVE_HOST_DEVICE T of_one(T a) {
    if constexpr (O == Opcode::Negative) return -a;
    if constexpr (O == Opcode::Sqrt) return std::sqrt(a);
    if constexpr (O == Opcode::Abs) return std::fabs(a);
    if constexpr (O == Opcode::Sign) return a > T(0) ? T(1) : a < T(0) ? T(-1) : T(0);
    if constexpr (O == Opcode::Exp) return exponential(a);
    if constexpr (O == Opcode::Log) return logarithm(a);
    if constexpr (O == Opcode::Tanh) return T(1) - T(2) / (exponential(T(2) * a) + T(1));
    if constexpr (O == Opcode::Sigmoid) return T(1) / (T(1) + exponential(-a));
    if constexpr (O == Opcode::Relu) return a > T(0) ? a : T(0);
    if constexpr (O == Opcode::Floor) return std::floor(a);
}

template <Opcode O, typename T>
FEDHIVE_HOST_DEVICE T of_two(T a, T b) {
    if constexpr (O == Opcode::Add) return a + b;
    if constexpr (O == Opcode::Subtract) return a - b;
    if constexpr (O == Opcode::Multiply) return a * b;
    if constexpr (O == Opcode::Divide) return a / b;
    if constexpr (O == Opcode::Minimum) return a < b ? a : b;
    if constexpr (O == Opcode::Maximum) return a > b ? a : b;
    if constexpr (O == Opcode::Less) return a < b ? T(1) : T(0);
    if constexpr (O == Opcode::AtMost) return a <= b ? T(1) : T(0);
    if constexpr (O == Opcode::Greater) return a > b ? T(1) : T(0);
    if constexpr (O == Opcode::AtLeast) return a >= b ? T(1) : T(0);
    if constexpr (O == Opcode::Equal) return a == b ? T(1) : T(0);
    if constexpr (O == Opcode::NotEqual) return a != b ? T(1) : T(0);
}

/// op(a) for an operation that is known at run time only.
template <typename T>
FEDHIVE_HOST_DEVICE T of_one(Opcode op, T a) {
    switch (op) {
        case Opcode::Negative:
            return of_one<Opcode::Negative>(a);
        case Opcode::Sqrt:
            return of_one<Opcode::Sqrt>(a);
        case Opcode::Abs:
            return of_one<Opcode::Abs>(a);
        case Opcode::Sign:
            return of_one<Opcode::Sign>(a);
        case Opcode::Exp:
            return of_one<Opcode::Exp>(a);
        case Opcode::Log:
            return of_one<Opcode::Log>(a);
        case Opcode::Tanh:
            return of_one<Opcode::Tanh>(a);
        case Opcode::Sigmoid:
            return of_one<Opcode::Sigmoid>(a);
        case Opcode::Relu:
            return of_one<Opcode::Relu>(a);
        default:
            return of_one<Opcode::Floor>(a);
    }
}

template <typename T>
FEDHIVE_HOST_DEVICE T of_two(Opcode op, T a, T b) {
    switch (op) {
        case Opcode::Add:
            return of_two<Opcode::Add>(a, b);
        case Opcode::Subtract:
            return of_two<Opcode::Subtract>(a, b);
        case Opcode::Multiply:
            return of_two<Opcode::Multiply>(a, b);
        case Opcode::Divide:
            return of_two<Opcode::Divide>(a, b);
        case Opcode::Minimum:
            return of_two<Opcode::Minimum>(a, b);
        case Opcode::Maximum:
            return of_two<Opcode::Maximum>(a, b);
        case Opcode::Less:
            return of_two<Opcode::Less>(a, b);
        case Opcode::AtMost:
            return of_two<Opcode::AtMost>(a, b);
        case Opcode::Greater:
            return of_two<Opcode::Greater>(a, b);
        case Opcode::AtLeast:
            return of_two<Opcode::AtLeast>(a, b);
        case Opcode::Equal:
            return of_two<Opcode::Equal>(a, b);
        default:
            return of_two<Opcode::NotEqual>(a, b);
    }
}

}  // namespace fedhive::aggregation::formulas
