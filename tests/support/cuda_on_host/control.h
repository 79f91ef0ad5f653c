// Controls of the emulated runtime for tests.
//
//   CUDA_ON_HOST_SEED=N       seeds the order of blocks, threads, warps and streams, and all uninitialised values; default 1
//   CUDA_ON_HOST_EAGER=1      work runs when it is enqueued, not when the host waits for it
//   CUDA_ON_HOST_MEMORY=N     bytes of device memory that this process may allocate; default 4 GiB
//   CUDA_ON_HOST_SHARED=N     most bytes of shared memory of a block; default and maximum 224 KiB
//   CUDA_ON_HOST_DEVICES=0    there is no device
//   CUDA_ON_HOST_DRIVER=N     the driver's version, such as 12040; every call fails if its major version is before the
//                             runtime's 13000; 0: no driver
//   CUDA_ON_HOST_FAIL=CALL:N  in each process one call of this name fails with error N; CALL:N:M: after M successful calls
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cuda_on_host {

/// The seed with which this process began, and setting another one.
std::uint64_t first_seed();
void set_seed(std::uint64_t seed);

void set_eager(bool eager);
void set_memory_bytes(std::size_t bytes);
void set_shared_bytes(std::size_t bytes);

/// Makes the call of this name fail once, after `after` successes. A kernel is "cudaLaunchKernel": errors that invalidate a
/// context on hardware (IllegalAddress and later) occur when it runs, others when it is launched.
void fail(const char* call, cudaError_t error, unsigned after = 0);

/// Restores the state of a new process: no error, no work enqueued, no failures requested, the
/// environment's limits. Memory stays.
void start_again();

}  // namespace cuda_on_host
