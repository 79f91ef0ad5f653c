// The precision of a client's local steps. Parameters, gradients, optimiser, update and evaluation are always f32.
#pragma once

#include "aggregation/base/words.h"

#include <cstdint>

namespace fedhive::clients {

enum class Precision : std::uint32_t {
    F32,
    TF32,  // matrix products and convolutions round their inputs to 10 bits of mantissa, on devices that support it; else as F32
    BF16   // the forward pass under LibTorch's autocast: matrix products and convolutions in bfloat16, the loss in f32
};
constexpr auto all_words(Precision) { return std::array{"f32", "tf32", "bf16"}; }

}  // namespace fedhive::clients
