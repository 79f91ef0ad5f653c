// The device's memory and the processes that hold it, from NVIDIA's management library, without a CUDA context.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Free bytes on the device; empty if unknown.
using FreeDeviceMemory = std::function<std::optional<std::uint64_t>()>;

/// The UUID of CUDA's first device, without "GPU-"; empty if there is none.
using FirstDevice = std::function<std::string()>;
std::string uuid_of_first_device();

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

/// Free memory through NVML, which needs no CUDA context. Loads the library here; if it is missing, does not know the device,
/// or knows only the whole of a card that is divided into MIG instances, the function returns nothing.
FreeDeviceMemory nvml_free_memory(const std::string& library = kNvml, const FirstDevice& first_device = uuid_of_first_device);

/// "GPU-…" of all devices that this process may use, in the form of CUDA_VISIBLE_DEVICES; none if one is divided into MIG
/// instances, which have their own names.
std::vector<std::string> nvml_devices(const std::string& library = kNvml);

/// A process with a context on the device.
struct DeviceHolder {
    pid_t pid = 0;            // by the driver's count: outside of a container
    std::uint64_t bytes = 0;  // 0 if the driver does not tell
};

/// All holders known to NVML, largest first; none if it knows none.
std::vector<DeviceHolder> nvml_holders(const std::string& library = kNvml,
                                       const FirstDevice& first_device = uuid_of_first_device);

/// "; held by process 4711 (python3): 12.0 GiB, process 4712: 1.0 GiB", without this process; empty if no other is known.
std::string describe_holders(const std::vector<DeviceHolder>& holders);

}  // namespace fedhive::sim
