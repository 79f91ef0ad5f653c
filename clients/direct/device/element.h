// The scalar form of clients/direct/kernels/pointwise.h, for host and device. C++17. The compiler contracts nothing, and fused
// multiply-adds are explicit, so both give the same bits.
#pragma once

#include "aggregation/math/element_ops.h"

namespace fedhive::clients::direct::device {

FEDHIVE_HOST_DEVICE float fused(float a, float b, float c) { return ::fmaf(a, b, c); }

/// max(x, 0); a NaN stays NaN.
FEDHIVE_HOST_DEVICE float cut_off(float x) { return x <= 0.0F ? 0.0F : x; }

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

/// tanh by e^(-2|x|), which never overflows; near 0, where that loses digits, by a polynomial (Cephes, tanhf).
FEDHIVE_HOST_DEVICE float tangent(float x) {
    const float magnitude = x <= 0.0F ? 0.0F - x : x;
    if (magnitude > 0.625F) {
        const float power = exponential(magnitude * -2.0F);
        const float far = (1.0F - power) / (1.0F + power);
        return x <= 0.0F ? 0.0F - far : far;
    }
    const float square = x * x;
    float near = -5.70498872745e-3F;
    near = fused(near, square, 2.06390887954e-2F);
    near = fused(near, square, -5.37397155531e-2F);
    near = fused(near, square, 1.33314422036e-1F);
    near = fused(near, square, -3.33332819422e-1F);
    return fused(near * square, x, x);
}

/// ln(x) for positive normal x, by exponent and atanh series of the mantissa; NaN and infinity stay.
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

}  // namespace fedhive::clients::direct::device
