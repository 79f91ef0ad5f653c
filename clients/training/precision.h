// In what precision a client's local steps are computed. Parameters, their gradient, the optimiser and the update are f32 in any case, and so is
// evaluation.
#pragma once

#include <cstdint>

namespace fedhive::clients {

enum class Precision : std::uint32_t {
    F32,
    TF32,  // inputs of matrix products and convolutions are rounded to 10 bits of mantissa, where the device can; on the CPU: F32
    BF16  // the forward pass under LibTorch's autocast: matrix products and convolutions in bfloat16, the loss in f32
};

}  // namespace fedhive::clients
