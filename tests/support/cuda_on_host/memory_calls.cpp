#include "tests/support/cuda_on_host/runtime.h"

#include <cstring>
#include <memory>
#include <vector>

using namespace cuda_on_host;

namespace {

/// The error if either side's memory contradicts the caller's `kind`.
cudaError_t copy_error(const Block* to, const Block* from, cudaMemcpyKind kind) {
    const auto on_device = [](const Block* block) { return block != nullptr && block->owner != Owner::Pinned; };
    const bool wants_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool wants_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool as_said = on_device(to) == wants_to && on_device(from) == wants_from;
    return kind == cudaMemcpyDefault || as_said ? cudaSuccess : cudaErrorInvalidValue;
}

/// Pageable memory is read at once and written before the call returns; everything else happens in the stream's order.
cudaError_t copy(Runtime& device, CUstream_st& stream, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return cudaSuccess;
    const Block* const to_block = device.memory.holding(to, bytes);
    const Block* const from_block = device.memory.holding(from, bytes);
    // A block that contains only the first byte is too short.
    if ((to_block == nullptr && device.memory.holding(to, 1) != nullptr) ||
        (from_block == nullptr && device.memory.holding(from, 1) != nullptr))
        return cudaErrorInvalidValue;
    if (const cudaError_t error = copy_error(to_block, from_block, kind); error != cudaSuccess) return error;
    if (from_block == nullptr) {
        const auto* const first = static_cast<const std::byte*>(from);
        const auto staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
        device.push(stream, [=] { std::memcpy(to, staged->data(), bytes); });
    } else {
        device.push(stream, [=] { std::memmove(to, from, bytes); });
    }
    if (to_block == nullptr) device.finish(stream);
    return cudaSuccess;
}

cudaError_t set(Runtime& device, CUstream_st& stream, void* to, int value, std::size_t bytes) {
    if (bytes == 0) return cudaSuccess;
    if (device.memory.holding(to, bytes) == nullptr) return cudaErrorInvalidValue;
    device.push(stream, [=] { std::memset(to, value, bytes); });
    return cudaSuccess;
}

cudaError_t allocate(Runtime& device, void** memory, std::size_t bytes, Owner owner) {
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    *memory = device.memory.allocate(bytes, owner, device.random);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

/// Waits for all work, as freeing does.
cudaError_t release(Runtime& device, const void* memory, Owner owner) {
    if (memory == nullptr) return cudaSuccess;
    device.finish_all();
    if (owner == Owner::Device && device.memory.open_elsewhere(memory)) return cudaErrorAlreadyMapped;
    return device.memory.release(memory, owner) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call("cudaMemGetInfo", [=](Runtime& device) {
        *total = device.memory.limit_bytes;
        *free = *total > device.memory.used_bytes() ? *total - device.memory.used_bytes() : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    return call("cudaMalloc", [=](Runtime& device) { return allocate(device, memory, bytes, Owner::Device); });
}

cudaError_t cudaFree(void* memory) {
    return call("cudaFree", [=](Runtime& device) { return release(device, memory, Owner::Device); });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
    return call("cudaHostAlloc", [=](Runtime& device) { return allocate(device, memory, bytes, Owner::Pinned); });
}

cudaError_t cudaFreeHost(void* memory) {
    return call("cudaFreeHost", [=](Runtime& device) { return release(device, memory, Owner::Pinned); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call_on("cudaMemcpyAsync", stream,
                   [=](Runtime& device, CUstream_st& on) { return copy(device, on, to, from, bytes, kind); });
}

/// May return before pageable memory has reached the device, as CUDA allows; waits for everything except
/// copies within the device.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call_on("cudaMemcpy", nullptr, [=](Runtime& device, CUstream_st& on) {
        const cudaError_t error = copy(device, on, to, from, bytes, kind);
        const auto pinned = [&](const void* memory) {
            const Block* const block = device.memory.holding(memory, 1);
            return block != nullptr && block->owner == Owner::Pinned;
        };
        if (pinned(to) || pinned(from)) device.finish(on);
        return error;
    });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    return call_on("cudaMemsetAsync", stream,
                   [=](Runtime& device, CUstream_st& on) { return set(device, on, to, value, bytes); });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return call_on("cudaMemset", nullptr, [=](Runtime& device, CUstream_st& on) { return set(device, on, to, value, bytes); });
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
    return call("cudaIpcGetMemHandle", [=](Runtime& device) { return device.memory.export_handle(memory, *handle); });
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned /*flags*/) {
    return call("cudaIpcOpenMemHandle", [=](Runtime& device) { return device.memory.open_handle(handle, *memory); });
}

/// Does not wait: work that still uses the memory will fault.
cudaError_t cudaIpcCloseMemHandle(void* memory) {
    return call("cudaIpcCloseMemHandle", [=](Runtime& device) {
        return device.memory.release(memory, Owner::OtherProcess) ? cudaSuccess : cudaErrorInvalidValue;
    });
}
