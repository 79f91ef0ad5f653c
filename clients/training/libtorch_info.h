// What there is to know of the LibTorch this program is built for, without loading it.
#pragma once

#include <string>

namespace fedhive::clients {

struct LibtorchInfo {
    std::string version;         // "2.11.0"; "none" where the program is built without
    std::string cpu_capability;  // "AVX2", "AVX512", "DEFAULT": other kernels, other last bits
    std::string
        cpu_vendor;  // "GenuineIntel", "AuthenticAMD", …: with the same capability, MKL has other last bits on another maker's
    bool cuda_built = false;  // linked with LibTorch's CUDA libraries
};

/// The capability is what ATen chooses on this processor, its environment variable ATEN_CPU_CAPABILITY included.
LibtorchInfo libtorch_info();

/// GPUs that it can use. Loads LibTorch where there is one; creates no CUDA context.
int libtorch_cuda_devices();

}  // namespace fedhive::clients
