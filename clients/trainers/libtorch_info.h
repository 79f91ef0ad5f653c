// Facts about the LibTorch that this program is built for, found without loading it.
#pragma once

#include <string>

namespace fedhive::clients {

struct LibtorchInfo {
    std::string version;         // "2.11.0"; "none" if built without LibTorch
    std::string cpu_capability;  // "AVX2", "AVX512", "DEFAULT": other kernels, other last bits
    std::string
        cpu_vendor;  // "GenuineIntel", "AuthenticAMD", …: with the same capability, MKL has other last bits on another maker's
    bool cuda_built = false;  // linked with LibTorch's CUDA libraries
};

/// The capability is ATen's choice on this processor, with regard to its environment variable ATEN_CPU_CAPABILITY.
LibtorchInfo libtorch_info();

/// Number of GPUs that LibTorch can use. Loads LibTorch if there is one; creates no CUDA context.
int libtorch_cuda_devices();

}  // namespace fedhive::clients
