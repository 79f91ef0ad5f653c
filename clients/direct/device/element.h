// The scalar form of clients/direct/kernels/pointwise.h, for host and device. C++17. The compiler contracts nothing, and fused
// multiply-adds are explicit, so both give the same bits.
#pragma once

#include "aggregation/math/scalar_functions.h"

namespace fedhive::clients::direct::device {

using aggregation::element::exponential;
using aggregation::element::fused;
using aggregation::element::logarithm;
using aggregation::element::power_of_two;

/// max(x, 0); a NaN stays NaN.
FEDHIVE_HOST_DEVICE float cut_off(float x) { return x <= 0.0F ? 0.0F : x; }

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

/// Φ(x), the normal distribution function, and exp(-x²/2); the coefficients are those of kernels/sequence.h.
struct Normal {
    float below, bell;
};
FEDHIVE_HOST_DEVICE Normal normal(float x) {
    const float u = x <= 0.0F ? 0.0F - x : x, bell = exponential(u * u * -0.5F), t = 1.0F / fused(u, 0.35F, 1.0F);
    float series = -2.914607068e-2F;
    series = fused(series, t, 1.439723588e-1F);
    series = fused(series, t, -2.557155641e-1F);
    series = fused(series, t, 1.591755786e-1F);
    series = fused(series, t, -2.311074654e-2F);
    series = fused(series, t, 1.055083569e-1F);
    series = fused(series, t, 1.198327881e-1F);
    series = fused(series, t, 1.398618791e-1F);
    series = fused(series, t, 1.396214039e-1F);
    const float tail = bell * (series * t);
    return {x <= 0.0F ? tail : 1.0F - tail, bell};
}

}  // namespace fedhive::clients::direct::device
