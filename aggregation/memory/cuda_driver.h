// An interface to the CUDA runtime calls that shared device memory needs, and the installed CUDA versions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace fedhive::aggregation {

/// The bytes of a cudaIpcMemHandle_t: plain data, passed through the control block.
struct IpcHandle {
    std::array<unsigned char, 64> bytes{};
    bool operator==(const IpcHandle&) const = default;
};

/// The calls that a shared allocation needs from creation to release. Tests use a double that rejects misuse. All throw Fault.
class CudaDriver {
public:
    CudaDriver() = default;
    CudaDriver(const CudaDriver&) = delete;
    CudaDriver& operator=(const CudaDriver&) = delete;
    virtual ~CudaDriver() = default;

    virtual void* allocate(std::size_t bytes) = 0;  // zeroed
    virtual void free(void* memory) = 0;
    virtual IpcHandle export_handle(void* memory) = 0;
    virtual void* open_handle(const IpcHandle& handle) = 0;
    virtual void close_handle(void* memory) = 0;
    virtual std::size_t free_bytes() = 0;

    /// Zeroed, pinned host memory, which this process's kernels can write.
    virtual void* allocate_pinned(std::size_t bytes) = 0;
    virtual void free_pinned(void* memory) = 0;

    /// Copies from host memory into an allocation of this process and waits until the copy is done.
    virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
};

/// The implementation with the CUDA runtime. Throws Fault in a build without CUDA.
CudaDriver& cuda_driver();

/// Runtime and driver versions in CUDA's numbering (13000: 13.0), 0 if absent. Reading them creates no context.
struct CudaVersions {
    bool built = false;  // this binary has CUDA kernels
    int runtime = 0;
    int driver = 0;
    int devices = 0;
    int architecture = 0;                 // of the first device; 90: compute capability 9.0
    unsigned shared_bytes_per_block = 0;  // of the first device: the largest opt-in limit of a kernel
    std::string device_name;
    std::string device_uuid;  // of the first device, without "GPU-"; NVML counts devices in another order than CUDA

    std::string describe() const;
};
CudaVersions cuda_versions();

}  // namespace fedhive::aggregation
