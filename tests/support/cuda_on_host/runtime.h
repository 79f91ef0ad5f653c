// The process's only device, and the state that its calls share.
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

    /// The error that prevents a call: an invalid context, no device, an old driver, a requested failure, or a forked process.
    cudaError_t against(const char* call);

    /// Makes all further calls fail with this error.
    void spoil(cudaError_t error, const std::string& why);

    /// Runs work until `done`, or until nothing can run.
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
    /// Enqueues work; runs it at once in eager mode.
    void push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run = {});

    std::recursive_mutex mutex;
    std::uint64_t seed;
    RandomOrder random;
    DeviceMemory memory;
    Queue queue;
    bool eager = false;
    std::size_t shared_bytes = 0;          // that a kernel can be allowed
    std::size_t allowed_shared_bytes = 0;  // that was allowed
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

/// Never destroyed before the process ends: work that is not waited for never runs.
Runtime& runtime();

extern thread_local cudaError_t last_error;  // for cudaGetLastError

/// Frame of every call: takes the lock, checks for a preventing error, and records the call's error, including errors of work
/// that it waited for.
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
