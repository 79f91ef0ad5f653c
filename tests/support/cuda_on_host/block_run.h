// One block of a kernel after the other, each thread of it as a fibre from the moment it waits for others: which thread goes on is drawn anew
// at every wait. A kernel without waits is a loop.
#pragma once

#include "tests/support/cuda_on_host/random_order.h"

#include <cuda_runtime.h>

#include <functional>
#include <string>

namespace cuda_on_host {

/// What a block has of shared memory, and what it can be allowed: a multiple of a page, 224 KiB of Hopper's 227.
constexpr std::size_t kUsualSharedBytes = std::size_t{48} << 10;
constexpr std::size_t kMostSharedBytes = std::size_t{224} << 10;

/// How a kernel ended that did not end well.
struct KernelFailure {
    cudaError_t error = cudaSuccess;
    std::string what;  // where and why, in words
};

/// Runs the whole grid.
KernelFailure run_kernel(const char* name, const Shape& shape, const std::function<void()>& thread, RandomOrder& random);

/// Writes in words where in device memory an address lies; false when it does not. Called by a signal handler: it may not allocate.
using Describe = bool (*)(const void* address, char* words, std::size_t size);

/// From here on a kernel that touches what it may not ends, and so does a host that touches device memory, with a line on stderr.
void watch_signals(Describe describe);

}  // namespace cuda_on_host
