// The loss of local training as plain data, for host and device. C++17. An evaluation always reports the task's own loss, so
// that runs with different losses can be compared.
#pragma once

#include "aggregation/math/element_ops.h"

#include <cstdint>

namespace fedhive::clients {

enum class LossKind : std::uint32_t { CrossEntropy, Focal, SquaredError };

struct LossTerms {
    LossKind kind = LossKind::CrossEntropy;  // SquaredError if and only if the targets are numbers
    float smoothing = 0.0F;                  // cross-entropy: label smoothing, in [0, 1)
    float gamma = 0.0F;                      // focal, >= 0
    const float* class_weights = nullptr;    // [classes], >= 0, in the memory that the kernel reads; null: all are 1

    FEDHIVE_HOST_DEVICE float weight_of(std::uint32_t label) const {
        return class_weights == nullptr ? 1.0F : class_weights[label];
    }
    /// A target's share of the denominator of a batch's mean loss.
    FEDHIVE_HOST_DEVICE float share_of(std::uint32_t label) const {
        return kind == LossKind::CrossEntropy ? weight_of(label) : 1.0F;
    }
    /// The task's own loss: cross-entropy without smoothing and weights, or the squared error.
    FEDHIVE_HOST_DEVICE bool is_plain() const {
        return kind == LossKind::SquaredError ||
               (kind == LossKind::CrossEntropy && smoothing == 0.0F && class_weights == nullptr);
    }
};

}  // namespace fedhive::clients
