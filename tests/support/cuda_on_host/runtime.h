// The one device of this process and what its calls share.
#pragma once

#include "tests/support/cuda_on_host/device_memory.h"
#include "tests/support/cuda_on_host/queue.h"

#include <map>
#include <mutex>
#include <string>

namespace cuda_on_host {

constexpr int kVersion = 13000;  // of the runtime

struct Runtime {
    Runtime();

    /// What stands against a call: a context that is spoilt, no device, an old driver, an error on demand, a process that was forked from the one that began.
    cudaError_t against(const char* call);

    /// From here on every call fails with this error.
    void spoil(cudaError_t error, const std::string& why);

    /// Runs work until `done`, or nothing is left that could run.
    template <typename Done>
    void run_until(Done done) {
        memory.let_touch(true);
        while (!done() && queue.step(random)) {
        }
        memory.let_touch(false);
    }
    void finish(const CUstream_st& stream) {
        if (!stream.work.empty()) run_until([&] { return stream.work.empty(); });
    }
    void finish_all() {
        if (!queue.idle()) run_until([this] { return queue.idle(); });
    }
    /// Enqueues; runs it at once when the runtime is eager.
    void push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run = {});

    std::recursive_mutex mutex;
    std::uint64_t seed;
    RandomOrder random;
    DeviceMemory memory;
    Queue queue;
    bool eager = false;
    std::size_t shared_bytes = 0;          // that a kernel can be allowed
    std::size_t allowed_shared_bytes = 0;  // that one was
    bool has_device = true;
    int driver_version = kVersion;
    cudaError_t spoilt = cudaSuccess;

    struct Demand {
        cudaError_t error;
        unsigned after;
    };
    std::map<std::string, Demand> demands;  // by name of the call
    int process;
};

/// Lives until the process ends: what nobody waited for is never run.
Runtime& runtime();

extern thread_local cudaError_t last_error;  // for cudaGetLastError

/// The frame of every call: takes the lock, asks what stands against it, and keeps its error. What its waiting brought to light is its error too.
template <typename Work>
cudaError_t call(const char* name, Work work) {
    Runtime& device = runtime();
    const std::lock_guard lock(device.mutex);
    cudaError_t error = device.against(name);
    if (error == cudaSuccess) error = work(device);
    if (device.spoilt != cudaSuccess) error = device.spoilt;
    if (error != cudaSuccess) last_error = error;
    return error;
}

/// The same for calls about a stream.
template <typename Work>
cudaError_t call_on(const char* name, cudaStream_t named, Work work) {
    return call(name, [&](Runtime& device) {
        CUstream_st* const stream = device.queue.stream(named);
        return stream == nullptr ? cudaErrorInvalidResourceHandle : work(device, *stream);
    });
}

}  // namespace cuda_on_host
