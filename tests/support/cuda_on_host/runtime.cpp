#include "tests/support/cuda_on_host/runtime.h"

#include "tests/support/cuda_on_host/block_run.h"
#include "tests/support/cuda_on_host/control.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuda_on_host {

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Parses "cudaMalloc:2" or "cudaMalloc:2:5".
void demand_from_environment(std::map<std::string, Runtime::Demand>& demands) {
    const char* const text = std::getenv("CUDA_ON_HOST_FAIL");
    if (text == nullptr) return;
    const std::string call(text, std::strcspn(text, ":"));
    int error = 0;
    unsigned after = 0;
    if (std::sscanf(text + call.size(), ":%d:%u", &error, &after) > 0) demands[call] = {static_cast<cudaError_t>(error), after};
}

bool spoils(cudaError_t error) { return error >= cudaErrorIllegalAddress && error != cudaErrorNotSupported; }

bool describe_address(const void* address, char* words, std::size_t size) {
    return runtime().memory.describe(address, words, size);
}

}  // namespace

Runtime::Runtime() : seed(from_environment("CUDA_ON_HOST_SEED", 1)), random(seed), process(getpid()) {
    eager = from_environment("CUDA_ON_HOST_EAGER", 0) != 0;
    memory.limit_bytes = from_environment("CUDA_ON_HOST_MEMORY", std::uint64_t{4} << 30);
    shared_bytes = std::min<std::size_t>(from_environment("CUDA_ON_HOST_SHARED", kMostSharedBytes), kMostSharedBytes);
    has_device = from_environment("CUDA_ON_HOST_DEVICES", 1) != 0;
    driver_version = static_cast<int>(from_environment("CUDA_ON_HOST_DRIVER", kVersion));
    demand_from_environment(demands);
}

thread_local cudaError_t last_error = cudaSuccess;

Runtime& runtime() {
    static Runtime& device = *new Runtime;
    return device;
}

cudaError_t Runtime::against(const char* call) {
    watch_signals(describe_address);
    if (process != getpid()) return cudaErrorInitializationError;
    if (spoilt != cudaSuccess) return spoilt;
    if (driver_version / 1000 < kVersion / 1000) return cudaErrorInsufficientDriver;
    if (!has_device) return cudaErrorNoDevice;
    const auto demand = demands.find(call);
    if (demand == demands.end()) return cudaSuccess;
    if (demand->second.after-- > 0) return cudaSuccess;
    const cudaError_t error = demand->second.error;
    demands.erase(demand);
    if (!spoils(error)) return error;
    queue.push(*queue.stream(nullptr), [this, error] { spoil(error, "as was asked for"); });
    return cudaSuccess;
}

void Runtime::spoil(cudaError_t error, const std::string& why) {
    spoilt = error;
    queue.forget();
    std::fprintf(stderr, "cuda_on_host: %s: %s (CUDA_ON_HOST_SEED=%ju)\n", cudaGetErrorString(error), why.c_str(),
                 static_cast<std::uintmax_t>(seed));
}

void Runtime::push(CUstream_st& stream, std::function<void()> run, std::function<bool()> may_run) {
    queue.push(stream, std::move(run), std::move(may_run));
    if (eager) finish_all();
}

std::uint64_t first_seed() { return runtime().seed; }

void set_seed(std::uint64_t seed) { runtime().random = RandomOrder(seed); }

void set_eager(bool eager) { runtime().eager = eager; }

void set_memory_bytes(std::size_t bytes) { runtime().memory.limit_bytes = bytes; }

void set_shared_bytes(std::size_t bytes) { runtime().shared_bytes = std::min(bytes, kMostSharedBytes); }

void fail(const char* call, cudaError_t error, unsigned after) { runtime().demands[call] = {error, after}; }

void start_again() {
    Runtime& device = runtime();
    device.queue.forget();
    device.spoilt = cudaSuccess;
    last_error = cudaSuccess;
    const Runtime fresh;
    device.demands = fresh.demands;
    device.eager = fresh.eager;
    device.memory.limit_bytes = fresh.memory.limit_bytes;
    device.shared_bytes = fresh.shared_bytes;
    device.allowed_shared_bytes = 0;
}

}  // namespace cuda_on_host
