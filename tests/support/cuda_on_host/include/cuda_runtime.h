// The vocabulary of device code in C++: what nvcc provides without an include. launches.py rewrites `kernel<<<…>>>(…)` and
// __shared__ to calls of the functions below.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
};

// Of the current thread; one runs at a time.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace cuda_on_host {

/// The launch configuration between <<< and >>>.
struct Shape {
    Shape(dim3 of_grid, dim3 of_block, std::size_t bytes = 0, cudaStream_t on = nullptr)
        : grid(of_grid), block(of_block), dynamic_bytes(bytes), stream(on) {}
    dim3 grid, block;
    std::size_t dynamic_bytes;
    cudaStream_t stream;
};

/// Enqueues `thread`, to be called once per thread of the grid. Errors in the shape are reported by cudaGetLastError.
void enqueue_kernel(const char* name, const Shape& shape, std::function<void()> thread);

template <typename Kernel, typename... Arguments>
void launch(const char* name, const Shape& shape, Kernel kernel, Arguments... arguments) {
    static_assert((std::size_t{0} + ... + sizeof(Arguments)) <= 4096, "more arguments than a kernel takes");
    enqueue_kernel(name, shape, [=] { kernel(arguments...); });
}

/// Sets the largest dynamic shared memory, for all kernels.
cudaError_t allow_shared_bytes(int bytes);

/// Shared memory of the current block: all its threads get the same bytes for the same `site`; initially random.
void* static_shared(const void* site, std::size_t bytes, std::size_t alignment);
void* dynamic_shared();

/// Site: a distinct type per declaration.
template <typename T, typename Site>
T& static_shared(Site) {
    static const char site = 0;
    return *static_cast<T*>(static_shared(&site, sizeof(T), alignof(T)));
}

enum class Collective { None, Block, Warp, Shuffle, Vote };

/// Runs other threads until all lanes of `mask` that have not ended are here. Returns each lane's value;
/// random for absent lanes.
const std::uint64_t* meet(Collective what, unsigned mask, std::uint64_t mine);
unsigned lane();

/// lane_of(l): the lane from which lane l reads within its group of `width`; if that is outside, l itself.
template <typename T, typename LaneOf>
T shuffle(unsigned mask, T value, int width, LaneOf lane_of) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(std::uint64_t) && sizeof(T) >= 4);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    const std::uint64_t* const brought = meet(Collective::Shuffle, mask, bits);
    const int within = static_cast<int>(lane()) % width;
    const int from = lane_of(within);
    const int chosen = from >= 0 && from < width ? from : within;
    T got = 0;
    std::memcpy(&got, &brought[static_cast<int>(lane()) - within + chosen], sizeof got);
    return got;
}

}  // namespace cuda_on_host

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int value) {
    return cuda_on_host::allow_shared_bytes(value);
}

inline void __syncthreads() { cuda_on_host::meet(cuda_on_host::Collective::Block, 0, 0); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) { cuda_on_host::meet(cuda_on_host::Collective::Warp, mask, 0); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
    return cuda_on_host::shuffle(mask, value, width, [=](int) { return from & (width - 1); });
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return cuda_on_host::shuffle(mask, value, width, [=](int lane) { return lane + static_cast<int>(delta); });
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return cuda_on_host::shuffle(mask, value, width, [=](int lane) { return lane - static_cast<int>(delta); });
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    return cuda_on_host::shuffle(mask, value, width, [=](int lane) { return lane ^ lanes; });
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const std::uint64_t* const votes = cuda_on_host::meet(cuda_on_host::Collective::Vote, mask, predicate != 0 ? 1 : 0);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1U) != 0 && votes[lane] == 1) ballot |= 1U << lane;
    return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0 ? 1 : 0) == 0 ? 1 : 0; }

inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
