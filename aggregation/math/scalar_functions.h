// e^x and ln(x) of one number, for host and device, with the same bits on every processor. C++17. Fused multiply-adds are written out,
// and the compiler adds none of its own (-ffp-contract=off).
#pragma once

#include "aggregation/math/element_ops.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fedhive::aggregation::element {

/// a * b + c, rounded once.
FEDHIVE_HOST_DEVICE float fused(float a, float b, float c) { return ::fmaf(a, b, c); }

/// 2^n for whole n in [-126, 127]; 1 for a NaN.
FEDHIVE_HOST_DEVICE float power_of_two(float n) {
    const std::int32_t bits = n != n ? 0 : (static_cast<std::int32_t>(n) + 127) << 23;
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// e^x for x <= 0 to about 1 ulp; 0 below -87. Cephes' polynomial (https://www.netlib.org/cephes, expf).
FEDHIVE_HOST_DEVICE float exponential(float x) {
    if (x <= -87.0F) return 0.0F;
    const float n = ::rintf(x * 1.44269504F);
    x = fused(n, -0.693359375F, x);
    x = fused(n, 2.12194440e-4F, x);
    float y = 1.9875691500e-4F;
    y = fused(y, x, 1.3981999507e-3F);
    y = fused(y, x, 8.3334519073e-3F);
    y = fused(y, x, 4.1665795894e-2F);
    y = fused(y, x, 1.6666665459e-1F);
    y = fused(y, x, 5.0000001201e-1F);
    y = fused(y, x * x, x + 1.0F);
    return y * power_of_two(n);
}

/// ln(x) for positive normal x, from the exponent and an atanh series of the mantissa; NaN gives NaN, infinity gives infinity.
FEDHIVE_HOST_DEVICE double logarithm(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    auto exponent = static_cast<std::int32_t>(bits >> 52 & 0x7FF) - 1022;
    if (exponent > 1024) return x;
    bits = (bits & 0xFFFFFFFFFFFFFU) | 0x3FE0000000000000U;  // in [0.5, 1)
    double mantissa = 0.0;
    std::memcpy(&mantissa, &bits, sizeof mantissa);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2.0;
        --exponent;
    }
    const double z = (mantissa - 1.0) / (mantissa + 1.0), square = z * z;
    double series = 0.0;
    for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
    return 2.0 * z * series + exponent * 0.69314718055994531;
}

}  // namespace fedhive::aggregation::element
