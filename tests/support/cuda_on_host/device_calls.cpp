#include "tests/support/cuda_on_host/block_run.h"
#include "tests/support/cuda_on_host/runtime.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

using namespace cuda_on_host;

namespace {

struct Named {
    cudaError_t error;
    const char* name;
    const char* words;
};
constexpr Named kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", "resource already mapped"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};
constexpr Named kAnother = {cudaSuccess, "unrecognized error code", "unrecognized error code"};
const Named& named(cudaError_t error) {
    const auto* const found =
        std::find_if(std::begin(kErrors), std::end(kErrors), [=](const Named& one) { return one.error == error; });
    return found == std::end(kErrors) ? kAnother : *found;
}

cudaError_t shape_error(const Runtime& device, const Shape& shape) {
    const auto& [grid, block, dynamic_bytes, stream] = shape;
    const bool empty = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
    const bool large_grid = grid.x > 0x7FFFFFFF || grid.y > 65535 || grid.z > 65535;
    const bool large_block =
        block.x > 1024 || block.y > 1024 || block.z > 64 || std::size_t{block.x} * block.y * block.z > 1024;
    if (empty || large_grid || large_block) return cudaErrorInvalidConfiguration;
    return dynamic_bytes > std::max(kUsualSharedBytes, device.allowed_shared_bytes) ? cudaErrorInvalidValue : cudaSuccess;
}

/// Events that are not destroyed; enqueued work keeps destroyed ones alive.
std::vector<std::shared_ptr<CUevent_st>>& events() {
    static std::vector<std::shared_ptr<CUevent_st>>& all = *new std::vector<std::shared_ptr<CUevent_st>>;
    return all;
}

template <typename Work>
cudaError_t call_about(const char* name, cudaEvent_t event, Work work) {
    return call(name, [&](Runtime& device) {
        const auto found = std::find_if(events().begin(), events().end(), [=](const auto& one) { return one.get() == event; });
        return found == events().end() ? cudaErrorInvalidResourceHandle : work(device, *found);
    });
}

}  // namespace

namespace cuda_on_host {

void enqueue_kernel(const char* name, const Shape& shape, std::function<void()> thread) {
    call_on("cudaLaunchKernel", shape.stream, [&](Runtime& device, CUstream_st& stream) {
        if (const cudaError_t error = shape_error(device, shape); error != cudaSuccess) return error;
        device.push(stream, [&device, name, shape, run = std::move(thread)] {
            const KernelFailure failure = run_kernel(name, shape, run, device.random);
            if (failure.error != cudaSuccess) device.spoil(failure.error, failure.what);
        });
        return cudaSuccess;
    });
}

cudaError_t allow_shared_bytes(int bytes) {
    return call("cudaFuncSetAttribute", [=](Runtime& device) {
        if (bytes < 0 || static_cast<std::size_t>(bytes) > device.shared_bytes) return cudaErrorInvalidValue;
        device.allowed_shared_bytes = std::max(device.allowed_shared_bytes, static_cast<std::size_t>(bytes));
        return cudaSuccess;
    });
}

}  // namespace cuda_on_host

const char* cudaGetErrorString(cudaError_t error) { return named(error).words; }
const char* cudaGetErrorName(cudaError_t error) { return named(error).name; }

cudaError_t cudaPeekAtLastError() {
    Runtime& device = runtime();
    const std::lock_guard lock(device.mutex);
    return device.spoilt != cudaSuccess ? device.spoilt : last_error;
}
cudaError_t cudaGetLastError() {
    const cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaGetDeviceCount(int* count) {
    return call("cudaGetDeviceCount", [=](Runtime&) {
        *count = 1;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
    return call("cudaGetDeviceProperties", [=](Runtime&) {
        *properties = {"cuda_on_host", {}, 9, 0};
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr /*attribute*/, int /*device*/) {
    return call("cudaDeviceGetAttribute", [=](Runtime& device) {
        *value = static_cast<int>(device.shared_bytes);
        return cudaSuccess;
    });
}

/// Accepts any flags: waiting always means running the work.
cudaError_t cudaSetDeviceFlags(unsigned /*flags*/) {
    return call("cudaSetDeviceFlags", [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = kVersion;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = runtime().driver_version;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    return call("cudaDeviceSynchronize", [](Runtime& device) {
        device.finish_all();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return call("cudaStreamCreateWithFlags", [=](Runtime& device) {
        *stream = device.queue.create(flags != cudaStreamNonBlocking);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call_on("cudaStreamDestroy", stream, [](Runtime& device, CUstream_st& on) {
        device.finish(on);
        device.queue.destroy(&on);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call_on("cudaStreamSynchronize", stream, [](Runtime& device, CUstream_st& on) {
        device.finish(on);
        return cudaSuccess;
    });
}

/// Repeated queries make the device progress.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return call_on("cudaStreamQuery", stream, [](Runtime& device, CUstream_st& on) {
        bool asked = false;
        if (!on.work.empty()) device.run_until([&] { return std::exchange(asked, true); });
        return on.work.empty() ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
    return call("cudaEventCreateWithFlags", [=](Runtime&) {
        *event = events().emplace_back(std::make_shared<CUevent_st>()).get();
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call_about("cudaEventDestroy", event, [=](Runtime&, const auto&) {
        std::erase_if(events(), [=](const auto& one) { return one.get() == event; });
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return call_about("cudaEventRecord", event, [=](Runtime& device, const std::shared_ptr<CUevent_st>& shared) {
        CUstream_st* const on = device.queue.stream(stream);
        if (on == nullptr) return cudaErrorInvalidResourceHandle;
        device.push(*on, [shared, time = ++shared->recorded] { shared->reached = std::max(shared->reached, time); });
        return cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
    return call_about("cudaStreamWaitEvent", event, [=](Runtime& device, const std::shared_ptr<CUevent_st>& shared) {
        CUstream_st* const on = device.queue.stream(stream);
        if (on == nullptr) return cudaErrorInvalidResourceHandle;
        device.push(
            *on, [] {}, [shared, time = shared->recorded] { return shared->reached >= time; });
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call_about("cudaEventSynchronize", event, [](Runtime& device, const std::shared_ptr<CUevent_st>& shared) {
        const std::uint64_t time = shared->recorded;
        if (shared->reached < time) device.run_until([&] { return shared->reached >= time; });
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call_about("cudaEventQuery", event, [](Runtime& device, const std::shared_ptr<CUevent_st>& shared) {
        bool asked = false;
        if (shared->reached < shared->recorded) device.run_until([&] { return std::exchange(asked, true); });
        return shared->reached < shared->recorded ? cudaErrorNotReady : cudaSuccess;
    });
}
