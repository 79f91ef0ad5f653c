// What a test can ask of the runtime.
//
//   CUDA_ON_HOST_SEED=N       the order of blocks, threads, warps and streams, and all rubbish; 1 when not set
//   CUDA_ON_HOST_EAGER=1      work runs when it is enqueued, not when somebody waits for it
//   CUDA_ON_HOST_MEMORY=N     bytes of device memory that this process may allocate; 4 GiB when not set
//   CUDA_ON_HOST_SHARED=N     bytes of shared memory that a block can be allowed, at most the 224 KiB when not set
//   CUDA_ON_HOST_DEVICES=0    there is no device
//   CUDA_ON_HOST_DRIVER=N     the version of the driver, such as 12040; one of a major version before the runtime's 13000 serves no call, and
//                             0 is none
//   CUDA_ON_HOST_FAIL=CALL:N  in each process the call of this name fails once with error N, or with CALL:N:M when it went well M times
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cuda_on_host {

/// The seed this process began with, and another one from here on.
std::uint64_t first_seed();
void set_seed(std::uint64_t seed);

void set_eager(bool eager);
void set_memory_bytes(std::size_t bytes);
void set_shared_bytes(std::size_t bytes);

/// The call of this name fails once, after it went well `after` times. A kernel is "cudaLaunchKernel": what spoils a context on hardware
/// (IllegalAddress and later) does so when the kernel runs, all else when it is launched.
void fail(const char* call, cudaError_t error, unsigned after = 0);

/// What a new process would have: no error, no work enqueued, nothing that is to fail, the limits of the environment. Memory stays.
void start_again();

}  // namespace cuda_on_host
