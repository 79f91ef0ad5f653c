// Runs a kernel block by block. A thread becomes a fibre when it first waits for others; at every wait the next thread is
// chosen at random. A kernel without waits is a loop.
#pragma once

#include "tests/support/cuda_on_host/random_order.h"

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace cuda_on_host {

/// Default and maximum shared memory of a block; the maximum is a multiple of a page, 224 KiB of Hopper's 227.
constexpr std::size_t kUsualSharedBytes = std::size_t{48} << 10;
constexpr std::size_t kMostSharedBytes = std::size_t{224} << 10;

/// The failure of a kernel.
struct KernelFailure {
    cudaError_t error = cudaSuccess;
    std::string what;  // where and why, in words
};

/// Runs the whole grid.
KernelFailure run_kernel(const char* name, const Shape& shape, const std::function<void()>& thread, RandomOrder& random);

/// Describes the place of an address in device memory; false if it is not in device memory. Called by a signal handler, so it
/// must not allocate.
using Describe = bool (*)(const void* address, char* words, std::size_t size);

/// Installs signal handlers: an invalid access ends the kernel; device memory touched by the host ends the
/// process, with a line on stderr.
void watch_signals(Describe describe);

}  // namespace cuda_on_host
