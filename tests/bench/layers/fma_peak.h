// What one core can do at most: independent fused multiply-adds in registers, by the instructions that the direct engine's kernels use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fedhive::bench {

/// FLOPs of `turns` turns; two a multiply-add.
struct FmaRun {
    double flops = 0.0;
    float sum = 0.0F;  // of everything, so that nothing can be left out
};

/// `kernels`: avx512, avx2 or plain, of this processor.
FmaRun multiply_and_add(std::string_view kernels, std::size_t turns);

}  // namespace fedhive::bench
