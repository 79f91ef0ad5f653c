// Valid kernels, and the effects of invalid ones; compiled like every .cu file of the emulated build.
#include "tests/support/cuda_on_host/control.h"

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <vector>

namespace {

constexpr unsigned kAll = 0xFFFFFFFFU;

/// Pinned memory, visible to host and device.
template <typename T>
class Shared {
public:
    explicit Shared(std::size_t size) : size_(size) {
        void* memory = nullptr;
        REQUIRE(cudaHostAlloc(&memory, size * sizeof(T), cudaHostAllocDefault) == cudaSuccess);
        values = static_cast<T*>(memory);
        std::fill_n(values, size, T());
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() { cudaFreeHost(values); }

    std::vector<T> after_all_work() const {
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        return {values, values + size_};
    }
    T* values = nullptr;

private:
    std::size_t size_;
};

__global__ void note_order(unsigned* order, unsigned* count) {
    order[(*count)++] = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.x + blockIdx.x * 1000 + threadIdx.x;
}

std::vector<unsigned> order_with_seed(std::uint64_t seed) {
    cuda_on_host::set_seed(seed);
    const Shared<unsigned> order(60), count(1);
    note_order<<<dim3(1, 2, 3), 10>>>(order.values, count.values);
    return order.after_all_work();
}

/// Reverses a block's values; without the barrier it reads values before others write them.
template <bool Barrier>
__global__ void reverse(unsigned* values) {
    extern __shared__ unsigned room[];
    room[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
    if (Barrier) __syncthreads();
    values[blockIdx.x * blockDim.x + threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

template <bool Barrier>
bool reversed() {
    constexpr unsigned kBlocks = 5, kThreads = 100;
    const Shared<unsigned> values(kBlocks * kThreads);
    std::iota(values.values, values.values + kBlocks * kThreads, 0U);
    reverse<Barrier><<<kBlocks, kThreads, kThreads * sizeof(unsigned)>>>(values.values);
    const std::vector<unsigned> result = values.after_all_work();
    for (unsigned i = 0; i < result.size(); ++i)
        if (result[i] != i / kThreads * kThreads + kThreads - 1 - i % kThreads) return false;
    return true;
}

__global__ void leave_marks(unsigned* found) {
    __shared__ unsigned marks[16];
    if (marks[threadIdx.x] == 12345) ++*found;
    marks[threadIdx.x] = 12345;
}

/// A row of 32 per warp function.
__global__ void exchange(int* rows) {
    const int lane = static_cast<int>(threadIdx.x);
    const auto row = [&](int number) -> int& { return rows[number * 32 + lane]; };
    row(0) = __shfl_sync(kAll, lane, 5);
    row(1) = __shfl_down_sync(kAll, lane, 3);
    row(2) = __shfl_up_sync(kAll, lane, 3);
    row(3) = __shfl_xor_sync(kAll, lane, 9);
    row(4) = __shfl_down_sync(kAll, lane, 3, 8);
    row(5) = static_cast<int>(__ballot_sync(kAll, lane % 3 == 0 ? 1 : 0));
    row(6) = __any_sync(kAll, lane == 7 ? 1 : 0) * 2 + __any_sync(kAll, 0);
    row(7) = __all_sync(kAll, 1) * 2 + __all_sync(kAll, lane != 7 ? 1 : 0);
    // The halves of a warp separately, in any order.
    row(8) = lane < 16 ? __shfl_sync(0x0000FFFFU, lane, 2) : __shfl_sync(0xFFFF0000U, lane, 20);
    row(9) = static_cast<int>(__shfl_sync(kAll, 0.5 * lane, 31) * 2.0);
    row(10) = static_cast<int>(__fmaf_rn(2.0F, static_cast<float>(lane), 1.0F));
}

__global__ void sum_of_present_lanes(int* sums) {
    if (threadIdx.x % 2 == 1) return;  // ended threads are not waited for
    int sum = 0;
    for (unsigned from = 0; from < blockDim.x; from += 2)
        sum += __shfl_sync(kAll, static_cast<int>(threadIdx.x), static_cast<int>(from));
    sums[threadIdx.x] = sum;
}

__global__ void write_at(float* values, std::ptrdiff_t index) { values[index] = 1.0F; }
__global__ void must_be(const int* value, int expected) { assert(*value == expected); }
__global__ void wait_in_two_places() {
    if (threadIdx.x == 0)
        __syncwarp(3);
    else
        __syncthreads();
}
__global__ void wait_with_two_masks() { __syncwarp(threadIdx.x == 0 ? 3U : 7U); }
__global__ void wait_for_others_only() { __syncwarp(1U << (1 - threadIdx.x)); }
__global__ void take_shared(unsigned char* sum) {
    __shared__ unsigned char room[40 << 10];
    *sum = static_cast<unsigned char>(room[threadIdx.x] + 1);
}
__global__ void nothing() {}

/// The error that the kernel leaves; afterwards the context is new.
template <typename Launch>
cudaError_t error_of(Launch launch) {
    cuda_on_host::start_again();
    launch();
    CHECK(cudaGetLastError() == cudaSuccess);
    const cudaError_t error = cudaDeviceSynchronize();
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, 16) == error);  // from now on every call fails
    CHECK(cudaGetLastError() == error);
    CHECK(cudaGetLastError() == error);
    cuda_on_host::start_again();
    CHECK(cudaGetLastError() == cudaSuccess);
    return error;
}

cudaError_t error_of_shape(dim3 grid, dim3 block, std::size_t dynamic_bytes = 0) {
    nothing<<<grid, block, dynamic_bytes>>>();
    const cudaError_t error = cudaGetLastError();
    CHECK(cudaGetLastError() == cudaSuccess);  // reported once only
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    return error;
}

}  // namespace

TEST_SUITE("Kernels") {
    TEST_CASE("EachThreadRunsOnceInAnOrderOfTheSeed") {
        const std::vector<unsigned> order = order_with_seed(1);
        CHECK(order == order_with_seed(1));
        CHECK(order != order_with_seed(2));
        std::size_t in_order = 0;
        for (std::size_t block = 0; block < 60; block += 10)
            in_order += std::is_sorted(order.begin() + static_cast<std::ptrdiff_t>(block),
                                       order.begin() + static_cast<std::ptrdiff_t>(block) + 10)
                            ? 1
                            : 0;
        CHECK(in_order == 0);
        std::vector<unsigned> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        CHECK(sorted != order);
        std::vector<unsigned> expected(60);
        std::iota(expected.begin(), expected.end(), 0U);
        CHECK(sorted == expected);
    }

    TEST_CASE("BarrierOfABlockIsKeptAndAMissingOneShows") {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            cuda_on_host::set_seed(seed);
            CHECK(reversed<true>());
            CHECK_FALSE(reversed<false>());
        }
    }

    TEST_CASE("SharedMemoryBeyondTheUsualHasToBeAllowedAndHasItsEnd") {
        cuda_on_host::start_again();
        const Shared<unsigned> values(100);
        std::iota(values.values, values.values + 100, 0U);
        int most = 0;
        REQUIRE(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess);
        CHECK(most == 224 << 10);
        reverse<true><<<1, 100, 49 << 10>>>(values.values);
        CHECK(cudaGetLastError() == cudaErrorInvalidValue);
        CHECK(cudaFuncSetAttribute(reverse<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1) ==
              cudaErrorInvalidValue);
        cudaGetLastError();
        CHECK(cudaFuncSetAttribute(reverse<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, most) == cudaSuccess);
        reverse<true><<<1, 100, 224 << 10>>>(values.values);
        CHECK(cudaGetLastError() == cudaSuccess);
        CHECK(values.after_all_work().front() == 99);
        cuda_on_host::set_shared_bytes(1000);
        CHECK(cudaFuncSetAttribute(reverse<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1001) == cudaErrorInvalidValue);
        cuda_on_host::start_again();
    }

    TEST_CASE("SharedMemoryIsNewForEachBlock") {
        const Shared<unsigned> found(1);
        leave_marks<<<20, 16>>>(found.values);
        CHECK(found.after_all_work() == std::vector<unsigned>{0});
    }

    TEST_CASE("LanesOfAWarpExchangeAndVote") {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            cuda_on_host::set_seed(seed);
            const Shared<int> rows(11 * 32);
            exchange<<<1, 32>>>(rows.values);
            const std::vector<int> got = rows.after_all_work();
            for (int lane = 0; lane < 32; ++lane) {
                const auto row = [&](int number) { return got[static_cast<std::size_t>(number * 32 + lane)]; };
                CHECK(row(0) == 5);
                CHECK(row(1) == (lane + 3 < 32 ? lane + 3 : lane));
                CHECK(row(2) == (lane >= 3 ? lane - 3 : lane));
                CHECK(row(3) == (lane ^ 9));
                CHECK(row(4) == (lane % 8 + 3 < 8 ? lane + 3 : lane));
                CHECK(row(5) == 0x49249249);
                CHECK(row(6) == 2);
                CHECK(row(7) == 2);
                CHECK(row(8) == (lane < 16 ? 2 : 20));
                CHECK(row(9) == 31);
                CHECK(row(10) == 2 * lane + 1);
            }
        }
    }

    TEST_CASE("LanesThatHaveEndedAreNotWaitedFor") {
        const Shared<int> sums(20);
        sum_of_present_lanes<<<1, 20>>>(sums.values);
        const std::vector<int> got = sums.after_all_work();
        for (std::size_t lane = 0; lane < 20; ++lane) CHECK(got[lane] == (lane % 2 == 0 ? 90 : 0));
    }

    TEST_CASE("WhatKernelsMayNotDoSpoilsTheContext") {
        void* memory = nullptr;
        REQUIRE(cudaMalloc(&memory, 1024) == cudaSuccess);
        auto* const values = static_cast<float*>(memory);
        const Shared<int> two(1);
        *two.values = 2;
        CHECK(error_of([&] { write_at<<<1, 1>>>(values, 255); }) == cudaSuccess);
        CHECK(error_of([&] { write_at<<<1, 1>>>(values, 256); }) == cudaErrorIllegalAddress);
        CHECK(error_of([&] { write_at<<<1, 1>>>(values, -1024); }) == cudaErrorIllegalAddress);
        CHECK(error_of([&] { must_be<<<2, 3>>>(two.values, 2); }) == cudaSuccess);
        CHECK(error_of([&] { must_be<<<2, 3>>>(two.values, 3); }) == cudaErrorAssert);
        CHECK(error_of([&] { wait_in_two_places<<<1, 2>>>(); }) == cudaErrorLaunchFailure);
        CHECK(error_of([&] { wait_with_two_masks<<<1, 3>>>(); }) == cudaErrorLaunchFailure);
        CHECK(error_of([&] { wait_for_others_only<<<1, 2>>>(); }) == cudaErrorLaunchFailure);
        CHECK(cudaFree(memory) == cudaSuccess);
        CHECK(error_of([&] { write_at<<<1, 1>>>(values, 0); }) == cudaErrorIllegalAddress);
    }

    TEST_CASE("SharedMemoryEndsAt48KiB") {
        const Shared<unsigned char> sum(1);
        CHECK(error_of([&] { take_shared<<<1, 1, 8 << 10>>>(sum.values); }) == cudaSuccess);
        CHECK(error_of([&] { take_shared<<<1, 1, 9 << 10>>>(sum.values); }) == cudaErrorLaunchFailure);
        CHECK(error_of_shape(1, 1, 48 << 10) == cudaSuccess);
        CHECK(error_of_shape(1, 1, (48 << 10) + 1) == cudaErrorInvalidValue);
    }

    TEST_CASE("ShapesOutsideTheLimitsAreRefused") {
        CHECK(error_of_shape(3, 1024) == cudaSuccess);
        CHECK(error_of_shape(1, 1025) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape(1, {32, 33}) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape(1, {1, 1, 65}) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape({1, 65535}, 1) == cudaSuccess);
        CHECK(error_of_shape({1, 65536}, 1) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape({1, 1, 65536}, 1) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape(0, 1) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape({1, 0}, 1) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape(1, 0) == cudaErrorInvalidConfiguration);
    }

    TEST_CASE("FailuresOnDemandComeWhenTheyWereAskedFor") {
        cuda_on_host::fail("cudaLaunchKernel", cudaErrorInvalidConfiguration, 1);
        CHECK(error_of_shape(1, 1) == cudaSuccess);
        CHECK(error_of_shape(1, 1) == cudaErrorInvalidConfiguration);
        CHECK(error_of_shape(1, 1) == cudaSuccess);
        cuda_on_host::fail("cudaLaunchKernel", cudaErrorLaunchFailure);
        nothing<<<1, 1>>>();
        CHECK(cudaGetLastError() == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
        CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
        cuda_on_host::start_again();
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
    }
}
