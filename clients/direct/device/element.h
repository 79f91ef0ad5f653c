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

}  // namespace fedhive::clients::direct::device
