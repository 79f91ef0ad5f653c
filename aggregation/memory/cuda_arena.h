// The arena in GPU memory: one cudaMalloc by the coordinator, one IPC handle, opened once by each worker.
//
//   coordinator   allocate ── export handle ──────────────────────────── (workers reaped) ── free
//   worker                        open ── copy, train, write slots ── close, exit
//
// Freeing before every opener has closed is undefined behaviour, so the order is fixed by ownership: a CudaArena outlives the fleet.
// A handle cannot be opened in the process that exported it.
// Source: CUDA Programming Guide, "Interprocess Communication".
#pragma once

#include "aggregation/memory/arena.h"

#include <array>
#include <string>

namespace fedhive::aggregation {

/// The bytes of a cudaIpcMemHandle_t: plain data, passed through the control block.
struct IpcHandle {
    std::array<unsigned char, 64> bytes{};
    bool operator==(const IpcHandle&) const = default;
};

/// The few driver calls that the life of a shared allocation needs; tests put a double here that refuses misuse. All throw Fault.
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
};

/// The real one, over the CUDA runtime. Throws Fault in a build without CUDA.
CudaDriver& cuda_driver();

/// Runtime and driver versions as CUDA counts them (13000: 13.0), 0 where there is none.
struct CudaVersions {
    bool built = false;  // this binary has CUDA kernels
    int runtime = 0;
    int driver = 0;
    int devices = 0;
    int architecture = 0;  // of the first device; 90: compute capability 9.0
    std::string device_name;

    std::string describe() const;
};
CudaVersions cuda_versions();

class CudaArena final : public Arena {
public:
    /// Throws Fault with the bytes wanted when the device has no room.
    CudaArena(CudaDriver& driver, const ArenaGeometry& geometry);
    ~CudaArena() override;

    const IpcHandle& handle() const { return handle_; }

private:
    CudaDriver& driver_;
    IpcHandle handle_;
};

class CudaArenaView final : public Arena {
public:
    CudaArenaView(CudaDriver& driver, const IpcHandle& handle, const ArenaGeometry& geometry);
    ~CudaArenaView() override;

private:
    CudaDriver& driver_;
};

}  // namespace fedhive::aggregation
