// Instruction sets of this processor for which there are kernels of their own (FEDHIVE_X86_KERNELS).
#pragma once

#include <array>
#include <string_view>

namespace fedhive {

#if defined(FEDHIVE_X86_KERNELS)

/// Whether the processor has the instructions of x86-64-v4 that our kernels use.
inline bool runs_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
/// Whether it has those of x86-64-v3, fused multiply-add among them.
inline bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#endif

/// Tables of kernels, fastest first; null: this processor does not run them, or this build has none.
template <typename Kernels>
using KernelSets = std::array<const Kernels*, 3>;

/// The sets that this processor runs; each is null in a build without it.
template <typename Kernels>
KernelSets<Kernels> runnable_of(const Kernels& plain, [[maybe_unused]] const Kernels* avx2,
                                [[maybe_unused]] const Kernels* avx512) {
#if defined(FEDHIVE_X86_KERNELS)
    return {runs_avx512() ? avx512 : nullptr, runs_avx2() ? avx2 : nullptr, &plain};
#else
    return {nullptr, nullptr, &plain};
#endif
}

template <typename Kernels>
const Kernels& fastest_of(const KernelSets<Kernels>& sets) {
    return sets[0] != nullptr ? *sets[0] : sets[1] != nullptr ? *sets[1] : *sets[2];
}

/// Null if there is none of that name.
template <typename Kernels>
const Kernels* named(const KernelSets<Kernels>& sets, std::string_view name) {
    for (const Kernels* kernels : sets)
        if (kernels != nullptr && kernels->name == name) return kernels;
    return nullptr;
}

}  // namespace fedhive
