// The device's memory and who holds it, as NVIDIA's management library tells it without a CUDA context.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Free bytes on the device; nothing where they are not known.
using FreeDeviceMemory = std::function<std::optional<std::uint64_t>()>;

/// The UUID of CUDA's first device, without "GPU-"; empty where there is none.
using FirstDevice = std::function<std::string()>;
std::string uuid_of_first_device();

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

/// The same through NVML, which needs no CUDA context. The library is loaded here; where it is missing, does not know the device, or knows only
/// the whole of a card that is cut into MIG instances, the function gives nothing.
FreeDeviceMemory nvml_free_memory(const std::string& library = kNvml, const FirstDevice& first_device = uuid_of_first_device);

/// "GPU-…" of all devices that this process may use, as CUDA_VISIBLE_DEVICES takes them; none where one is cut into MIG instances, which have
/// names of their own.
std::vector<std::string> nvml_devices(const std::string& library = kNvml);

/// A process with a context on the device.
struct DeviceHolder {
    pid_t pid = 0;            // as the driver counts: outside of a container
    std::uint64_t bytes = 0;  // 0 where the driver does not tell
};

/// All that NVML tells of, the largest first; none where it tells nothing.
std::vector<DeviceHolder> nvml_holders(const std::string& library = kNvml,
                                       const FirstDevice& first_device = uuid_of_first_device);

/// "; held by process 4711 (python3): 12.0 GiB, process 4712: 1.0 GiB", without this process; empty where nobody else is known.
std::string describe_holders(const std::vector<DeviceHolder>& holders);

}  // namespace fedhive::sim
