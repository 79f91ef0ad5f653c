#include "clients/trainers/libtorch_info.h"

#include "aggregation/memory/cuda_driver.h"
#include "clients/trainers/engine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace fedhive::clients {

namespace {

#ifdef FEDHIVE_TORCH_CUDA
constexpr bool kCudaBuilt = true;
#else
constexpr bool kCudaBuilt = false;
#endif

/// Values of ATEN_CPU_CAPABILITY, and what LibTorch calls them.
constexpr std::array kCapabilities{std::pair{"avx512", "AVX512"}, std::pair{"avx2", "AVX2"}, std::pair{"default", "DEFAULT"}};

/// As ATen's DispatchStub chooses.
const char* cpu_capability() {
    const char* wanted = std::getenv("ATEN_CPU_CAPABILITY");
    const std::string_view wish = wanted == nullptr ? "" : wanted;
    for (const auto& [word, name] : kCapabilities)
        if (wish == word) return name;
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 =
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    if (avx2 && avx512) return "AVX512";
    if (avx2) return "AVX2";
#endif
    return "DEFAULT";
}

/// The processor's maker, as the instruction CPUID names it ("GenuineIntel"); empty without that instruction.
std::string cpu_vendor() {
#if defined(__x86_64__)
    unsigned int most = 0;
    std::array<unsigned int, 3> name{};  // its four letters each
    if (__get_cpuid(0, &most, &name[0], &name[2], &name[1]) == 1)
        return {reinterpret_cast<const char*>(name.data()), sizeof name};
#endif
    return "";
}

}  // namespace

LibtorchInfo libtorch_info() { return {libtorch_place().version, cpu_capability(), cpu_vendor(), kCudaBuilt}; }

int libtorch_cuda_devices() {
    // LibTorch warns on stderr of a driver that is too old.
    if (!kCudaBuilt || aggregation::cuda_versions().devices == 0) return 0;
    return libtorch_engine().num_cuda_devices();
}

}  // namespace fedhive::clients
