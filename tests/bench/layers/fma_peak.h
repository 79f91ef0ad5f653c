// Peak of one core: independent fused multiply-adds in registers, with the instructions of the direct engine's kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fedhive::bench {

/// FLOPs of `turns` iterations, two per multiply-add.
struct FmaRun {
    double flops = 0.0;
    float sum = 0.0F;  // of all results, so that none can be optimised away
};

/// `kernels`: avx512, avx2 or plain, supported by this processor.
FmaRun multiply_and_add(std::string_view kernels, std::size_t turns);

}  // namespace fedhive::bench
