// Facts about the LibTorch that this program uses, found without loading it.
#pragma once

#include <filesystem>
#include <string>

namespace fedhive::clients {

struct LibtorchInfo {
    std::string version;         // "2.11.0"; "none" if no LibTorch can be used
    std::string cpu_capability;  // "AVX2", "AVX512", "DEFAULT": last bits depend on it
    std::string cpu_vendor;      // "GenuineIntel", "AuthenticAMD", …: MKL's last bits depend on it, too
    bool cuda_built = false;     // linked with LibTorch's CUDA libraries
};

/// Which LibTorch this program loads, and its engine that is built for it.
struct LibtorchPlace {
    /// libfedhive_libtorch.so: beside the program, as it is built, or in the lib/ next to its folder.
    std::filesystem::path engine{};
    /// The folder of PyTorch, with lib/ and version.py. Empty: the LibTorch that the engine was linked with.
    std::filesystem::path folder{};
    std::string version = "none";  // as LibtorchInfo
    std::string problem{};         // why no LibTorch can be used, and what to do; empty if one can
};

/// A program installed as a Python package uses the installed PyTorch, from the folder $FEDHIVE_TORCH or else beside the package. Its version
/// must be the one that fedhive was built for, except for the last number. Other programs use the LibTorch that they were built with.
LibtorchPlace libtorch_place();

/// The capability is ATen's choice on this processor, with regard to its environment variable ATEN_CPU_CAPABILITY.
LibtorchInfo libtorch_info();

/// Number of GPUs that LibTorch can use. Loads LibTorch if there is one; creates no CUDA context.
int libtorch_cuda_devices();

}  // namespace fedhive::clients
