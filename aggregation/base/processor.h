// Instruction sets of this processor for which there are kernels of their own (FEDHIVE_X86_KERNELS).
#pragma once

namespace fedhive {

#if defined(FEDHIVE_X86_KERNELS)

/// Everything that x86-64-v4 adds and our kernels use.
inline bool runs_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
/// x86-64-v3, with fused multiply-add.
inline bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#endif

}  // namespace fedhive
