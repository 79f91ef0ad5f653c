#include "aggregation/memory/cuda_driver.h"

#include "aggregation/base/error.h"

#ifdef FEDHIVE_WITH_CUDA
#include <cuda_runtime_api.h>

#include <cstring>
#endif

namespace fedhive::aggregation {

namespace {

#ifdef FEDHIVE_WITH_CUDA

/// Throws on error, after clearing the runtime's last error: otherwise the next check, or LibTorch's, would report it for a
/// later launch that succeeded.
void check(cudaError_t error, const std::string& what) {
    if (error == cudaSuccess) return;
    cudaGetLastError();
    const std::string text = fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
    if (error == cudaErrorMemoryAllocation) throw OutOfMemory(text);
    throw DeviceFault(text);
}

class RuntimeDriver final : public CudaDriver {
public:
    /// Selects blocking waits: spinning waits would take cores from workers that have kernels to launch.
    RuntimeDriver() {
        if (cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) != cudaSuccess) cudaGetLastError();
    }
    std::size_t free_bytes() override {
        std::size_t free = 0;
        std::size_t total = 0;
        check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        return free;
    }
    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        const cudaError_t error = cudaMalloc(&memory, bytes);
        if (error != cudaSuccess) check(error, fmt::format("cudaMalloc of {} bytes{}", bytes, free_text()));
        check(cudaMemset(memory, 0, bytes), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaMemset");  // before another process can see the memory
        return memory;
    }
    void* allocate_pinned(std::size_t bytes) override {
        void* memory = nullptr;
        check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), fmt::format("cudaHostAlloc of {} bytes", bytes));
        std::memset(memory, 0, bytes);
        return memory;
    }
    void free_pinned(void* memory) override { check(cudaFreeHost(memory), "cudaFreeHost"); }
    void upload(void* to, const void* from, std::size_t bytes) override {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        check(cudaDeviceSynchronize(), "cudaMemcpy");  // a copy from pageable memory returns as soon as it is staged
    }
    void free(void* memory) override { check(cudaFree(memory), "cudaFree"); }
    IpcHandle export_handle(void* memory) override {
        cudaIpcMemHandle_t raw{};
        static_assert(sizeof raw == sizeof(IpcHandle));
        check(cudaIpcGetMemHandle(&raw, memory), "cudaIpcGetMemHandle");
        IpcHandle handle;
        std::memcpy(handle.bytes.data(), &raw, sizeof raw);
        return handle;
    }
    void* open_handle(const IpcHandle& handle) override {
        cudaIpcMemHandle_t raw{};
        std::memcpy(&raw, handle.bytes.data(), sizeof raw);
        void* memory = nullptr;
        check(cudaIpcOpenMemHandle(&memory, raw, cudaIpcMemLazyEnablePeerAccess),
              "cudaIpcOpenMemHandle (`fedhive doctor` shows possible reasons)");
        return memory;
    }
    void close_handle(void* memory) override { check(cudaIpcCloseMemHandle(memory), "cudaIpcCloseMemHandle"); }

private:
    /// Empty if the query fails, too: the earlier error is the one to report.
    static std::string free_text() {
        std::size_t free = 0;
        std::size_t total = 0;
        return cudaMemGetInfo(&free, &total) == cudaSuccess ? fmt::format(", {} bytes are free", free) : "";
    }
};

/// "8932f937-d72c-4106-c12f-20bd9faed9f6", as NVML writes it after "GPU-".
std::string text_of(const char (&uuid)[16]) {
    std::string text;
    for (std::size_t i = 0; i < sizeof uuid; ++i)
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", static_cast<unsigned char>(uuid[i]));
    return text;
}

#endif

}  // namespace

CudaDriver& cuda_driver() {
#ifdef FEDHIVE_WITH_CUDA
    static RuntimeDriver driver;
    return driver;
#else
    throw Fault("this binary was built without CUDA (FEDHIVE_CUDA)");
#endif
}

CudaVersions cuda_versions() {
    CudaVersions versions;
#ifdef FEDHIVE_WITH_CUDA
    versions.built = true;
    cudaRuntimeGetVersion(&versions.runtime);
    cudaDriverGetVersion(&versions.driver);
    cudaDeviceProp properties{};
    if (cudaGetDeviceCount(&versions.devices) != cudaSuccess) versions.devices = 0;
    if (versions.devices > 0 && cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
        versions.device_name = properties.name;
        versions.architecture = properties.major * 10 + properties.minor;
        versions.device_uuid = text_of(properties.uuid.bytes);
    }
    int bytes = 0;
    if (versions.devices > 0 && cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess)
        versions.shared_bytes_per_block = static_cast<unsigned>(bytes);
    cudaGetLastError();  // clears the error that a machine without a device leaves
#endif
    return versions;
}

std::string CudaVersions::describe() const {
    if (!built) return "not built in (the build found no nvcc)";
    const auto number = [](int version) {
        return version == 0 ? std::string("none") : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    };
    return fmt::format("runtime {} · driver {} · {}", number(runtime), number(driver),
                       devices == 0 ? "no device" : device_name);
}

}  // namespace fedhive::aggregation
