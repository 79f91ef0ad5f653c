// Whether LibTorch can train on a GPU of this machine.
#pragma once

#include "tests/aggregation/spans.h"

#include <ATen/Context.h>

#include <string>

namespace fedhive::testing {

/// Reason why it cannot; empty if it can.
inline std::string no_training_on_gpu() {
    const std::string reason = aggregation::testing::no_gpu_reason();
    if (!reason.empty()) return reason;
    return at::hasCUDA() ? "" : "this LibTorch has no CUDA";
}

}  // namespace fedhive::testing
