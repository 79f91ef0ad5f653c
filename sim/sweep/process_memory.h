// What a process and those it has started take, as the kernel and the GPU's driver tell it from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// The process, its children, theirs, and so on; those that have ended are left out.
std::vector<pid_t> process_tree(pid_t root);

/// Host memory of a process and its descendants in bytes: proportional set sizes, so that what they share counts once; resident set sizes
/// where the kernel does not tell those. 0 where the process has ended.
std::uint64_t tree_memory(pid_t root);

/// Free bytes on the device; nothing where they are not known.
using FreeDeviceMemory = std::function<std::optional<std::uint64_t>()>;

/// The same through NVML, which needs no CUDA context: of the first device in CUDA_VISIBLE_DEVICES, else of the first there is. The library
/// is loaded here; where it is missing or has no such device, the function gives nothing.
FreeDeviceMemory nvml_free_memory(const std::string& library = "libnvidia-ml.so.1");

}  // namespace fedhive::sim
