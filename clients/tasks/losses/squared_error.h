// The squared error of one example, for host and device. C++17.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstdint>

namespace fedhive::clients {

/// Means over an example's numbers.
struct NumbersError {
    double squared = 0.0, absolute = 0.0;
};

/// squared = Σ error² / size with error = answers − targets, [size] both, as nn.MSELoss; `answers` become 2 · error · weight /
/// size.
///
/// Order    ascending index. A float's square is exact in double, so the bits depend on no processor or compiler.
FEDHIVE_HOST_DEVICE NumbersError squared_error(float* answers, const float* numbers, std::uint32_t size, float weight) {
    const float slope = 2.0F * weight / static_cast<float>(size);
    NumbersError mean;
    for (std::uint32_t i = 0; i < size; ++i) {
        const float error = answers[i] - numbers[i];
        const auto exact = static_cast<double>(error);
        mean.squared += exact * exact;
        mean.absolute += exact < 0.0 ? -exact : exact;
        answers[i] = error * slope;
    }
    mean.squared /= size;
    mean.absolute /= size;
    return mean;
}

}  // namespace fedhive::clients
