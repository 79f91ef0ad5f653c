// Facts about the LibTorch that this program uses, found without loading it.
#pragma once

#include <filesystem>
#include <string>

namespace fedhive::clients {

struct LibtorchInfo {
    std::string version;         // "2.11.0"; "none" if there is none to use
    std::string cpu_capability;  // "AVX2", "AVX512", "DEFAULT": other kernels, other last bits
    std::string
        cpu_vendor;  // "GenuineIntel", "AuthenticAMD", …: with the same capability, MKL has other last bits on another maker's
    bool cuda_built = false;  // linked with LibTorch's CUDA libraries
};

/// Which LibTorch this program loads, and its engine that is built for it.
struct LibtorchPlace {
    /// libfedhive_libtorch.so: beside the program, as it is built, or in the lib/ next to its folder.
    std::filesystem::path engine{};
    /// Of PyTorch, with lib/ and version.py. Empty: the LibTorch that the engine was linked with.
    std::filesystem::path folder{};
    std::string version = "none";  // as LibtorchInfo
    std::string problem{};         // why there is none to use, and what to do; empty if there is one
};

/// A program that is installed as a Python package uses the installed PyTorch: $FEDHIVE_TORCH names its folder, else it is beside the
/// package. It has to have the version that fedhive was built for, but for the last number. Any other program uses the LibTorch that it was
/// built with.
LibtorchPlace libtorch_place();

/// The capability is ATen's choice on this processor, with regard to its environment variable ATEN_CPU_CAPABILITY.
LibtorchInfo libtorch_info();

/// Number of GPUs that LibTorch can use. Loads LibTorch if there is one; creates no CUDA context.
int libtorch_cuda_devices();

}  // namespace fedhive::clients
