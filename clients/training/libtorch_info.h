// What there is to know of the LibTorch this binary runs with, without its headers.
#pragma once

#include <string>

namespace fedhive::clients {

struct LibtorchInfo {
    std::string version;         // "2.11.0"
    std::string cpu_capability;  // "AVX2", "AVX512": other kernels, other last bits
    bool cuda_built = false;     // linked with LibTorch's CUDA libraries
    int cuda_devices = 0;        // usable ones
};

/// Does not create a CUDA context.
LibtorchInfo libtorch_info();

}  // namespace fedhive::clients
