// Device memory, copies, and access by other processes.
#include "tests/support/cuda_on_host/control.h"
#include "tests/support/run_case.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using fedhive::testing::start_case;
using fedhive::testing::status_of_case;

namespace {

constexpr std::size_t kBytes = 1000;
using Bytes = std::vector<unsigned char>;

void* allocated(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, bytes) == cudaSuccess);
    return memory;
}

Bytes on_host(const void* memory, std::size_t bytes = kBytes) {
    Bytes copy(bytes);
    CHECK(cudaMemcpy(copy.data(), memory, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    return copy;
}

const char* const kHandle = "CUDA_ON_HOST_TEST_HANDLE";

void hand_over(const cudaIpcMemHandle_t& handle) {
    std::string digits;
    for (const char byte : handle.reserved) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        digits += two;
    }
    setenv(kHandle, digits.c_str(), 1);
}

cudaIpcMemHandle_t handed_over() {
    const char* const digits = std::getenv(kHandle);
    REQUIRE(digits != nullptr);
    cudaIpcMemHandle_t handle = {};
    for (std::size_t i = 0; i < sizeof handle.reserved; ++i)
        handle.reserved[i] = static_cast<char>(std::stoi(std::string(digits + 2 * i, 2), nullptr, 16));
    return handle;
}

}  // namespace

TEST_SUITE("Memory") {
    TEST_CASE("NewMemoryIsFullOfRubbishAndAlignedAndEndsAtItsEnd") {
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{256}, kBytes, std::size_t{1} << 20}) {
            void* const first = allocated(bytes);
            void* const second = allocated(bytes);
            CHECK(reinterpret_cast<std::uintptr_t>(first) % 256 == 0);
            if (bytes > 8) {
                CHECK(on_host(first, bytes) != on_host(second, bytes));
                CHECK(on_host(first, bytes) != Bytes(bytes, 0));
            }
            Bytes more(bytes + 1);
            CHECK(cudaMemcpy(first, more.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
            CHECK(cudaMemcpy(first, more.data(), bytes + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
            CHECK(cudaMemset(first, 0, bytes + 1) == cudaErrorInvalidValue);
            CHECK(cudaFree(first) == cudaSuccess);
            CHECK(cudaFree(second) == cudaSuccess);
            CHECK(cudaFree(first) == cudaErrorInvalidValue);
            CHECK(cudaMemset(first, 0, bytes) == cudaErrorInvalidValue);
            void* const third = allocated(bytes);
            CHECK(third != first);
            CHECK(cudaFree(third) == cudaSuccess);
        }
        CHECK(cudaGetLastError() == cudaErrorInvalidValue);
        CHECK(cudaGetLastError() == cudaSuccess);
    }

    TEST_CASE("NoBytesAreNoMemory") {
        CHECK(allocated(0) == nullptr);
        CHECK(cudaFree(nullptr) == cudaSuccess);
        CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault) == cudaSuccess);
        CHECK(cudaMemset(nullptr, 0, 0) == cudaSuccess);
    }

    TEST_CASE("CopiesGoTheWayTheySay") {
        void* const device = allocated();
        Bytes host(kBytes, 3);
        CHECK(cudaMemcpy(device, host.data(), kBytes, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
        CHECK(cudaMemcpy(device, host.data(), kBytes, cudaMemcpyHostToHost) == cudaErrorInvalidValue);
        CHECK(cudaMemcpy(host.data(), device, kBytes, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
        CHECK(cudaMemcpy(device, host.data(), kBytes, cudaMemcpyDefault) == cudaSuccess);
        CHECK(on_host(device) == host);
        CHECK(cudaFree(device) == cudaSuccess);
    }

    TEST_CASE("LimitHoldsAndIsToldAsFree") {
        std::size_t free = 0, total = 0;
        CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
        const std::size_t limit = total - free + 5000;
        cuda_on_host::set_memory_bytes(limit);
        CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
        CHECK(total == limit);
        CHECK(free == 5000);
        void* const memory = allocated(2000);
        CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
        CHECK(free == 3000);
        void* more = nullptr;
        CHECK(cudaMalloc(&more, free + 1) == cudaErrorMemoryAllocation);
        CHECK(std::string(cudaGetErrorString(cudaGetLastError())) == "out of memory");
        CHECK(cudaMalloc(&more, std::size_t{1} << 63) == cudaErrorMemoryAllocation);
        CHECK(cudaFree(memory) == cudaSuccess);
        cuda_on_host::set_memory_bytes(0);
        CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
        CHECK(free == 0);
        cuda_on_host::start_again();
        CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
        CHECK(total == std::size_t{4} << 30);
    }

    TEST_CASE("CallsFailOnDemandAndTheErrorIsKeptUntilAskedFor") {
        void* memory = nullptr;
        cuda_on_host::fail("cudaMalloc", cudaErrorMemoryAllocation, 1);
        CHECK(cudaMalloc(&memory, 16) == cudaSuccess);
        CHECK(cudaFree(memory) == cudaSuccess);
        CHECK(cudaMalloc(&memory, 16) == cudaErrorMemoryAllocation);
        CHECK(cudaMalloc(&memory, 16) == cudaSuccess);
        CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
        CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
        CHECK(cudaGetLastError() == cudaSuccess);
        CHECK(cudaFree(memory) == cudaSuccess);
    }

    TEST_CASE("HostThatTouchesDeviceMemoryIsEnded") {
        setenv("ASAN_OPTIONS", "handle_segv=0", 1);  // it would report the signal and exit
        const int status = status_of_case("Child: HostReadsDeviceMemory");
        REQUIRE(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGSEGV);
    }
    TEST_CASE("Child: HostReadsDeviceMemory" * doctest::skip()) {
        const auto* const memory = static_cast<volatile unsigned char*>(allocated());
        CHECK(cudaMemset(const_cast<unsigned char*>(memory), 0, kBytes) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(memory[0] == 0);
        std::_Exit(0);
    }

    TEST_CASE("ForkedProcessHasNoDevice") {
        void* const memory = allocated();
        const pid_t child = fork();
        if (child == 0) std::_Exit(cudaMemset(memory, 0, 1) == cudaErrorInitializationError ? 0 : 1);
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
        CHECK(cudaFree(memory) == cudaSuccess);
    }
}

TEST_SUITE("Ipc") {
    TEST_CASE("AnotherProcessSharesWhatItOpensOnceAndCloses") {
        void* const memory = allocated();
        CHECK(cudaMemset(memory, 7, kBytes) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        cudaIpcMemHandle_t handle = {};
        CHECK(cudaIpcGetMemHandle(&handle, static_cast<char*>(memory) + 1) == cudaErrorInvalidValue);
        REQUIRE(cudaIpcGetMemHandle(&handle, memory) == cudaSuccess);
        void* opened = nullptr;
        CHECK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) == cudaErrorDeviceUninitialized);
        CHECK(cudaIpcCloseMemHandle(memory) == cudaErrorInvalidValue);
        hand_over(handle);
        CHECK(status_of_case("Child: OpensTheHandle") == 0);
        CHECK(on_host(memory) == Bytes(kBytes, 8));
        CHECK(cudaFree(memory) == cudaSuccess);
        void* const next = allocated();  // with the file descriptor of the previous one
        CHECK(status_of_case("Child: FindsTheHandleStale") == 0);
        CHECK(cudaFree(next) == cudaSuccess);
    }
    TEST_CASE("Child: OpensTheHandle" * doctest::skip()) {
        const cudaIpcMemHandle_t handle = handed_over();
        void* memory = nullptr;
        REQUIRE(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
        void* again = nullptr;
        CHECK(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess) == cudaErrorAlreadyMapped);
        cudaIpcMemHandle_t other = {};
        CHECK(cudaIpcGetMemHandle(&other, memory) == cudaErrorInvalidValue);
        CHECK(cudaFree(memory) == cudaErrorInvalidValue);
        CHECK(on_host(memory) == Bytes(kBytes, 7));
        CHECK(cudaMemset(memory, 8, kBytes) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(cudaIpcCloseMemHandle(memory) == cudaSuccess);
        CHECK(cudaIpcCloseMemHandle(memory) == cudaErrorInvalidValue);
        REQUIRE(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    }
    TEST_CASE("Child: FindsTheHandleStale" * doctest::skip()) {
        void* memory = nullptr;
        CHECK(cudaIpcOpenMemHandle(&memory, handed_over(), 0) == cudaErrorInvalidResourceHandle);
        CHECK(cudaIpcOpenMemHandle(&memory, {}, 0) == cudaErrorInvalidResourceHandle);
    }

    TEST_CASE("MemoryThatIsOpenElsewhereIsNotFreedUntilItsOpenerIsGone") {
        void* const memory = allocated();
        cudaIpcMemHandle_t handle = {};
        REQUIRE(cudaIpcGetMemHandle(&handle, memory) == cudaSuccess);
        hand_over(handle);
        int opened[2] = {}, leave[2] = {};
        REQUIRE(pipe(opened) == 0);
        REQUIRE(pipe(leave) == 0);
        setenv("CUDA_ON_HOST_TEST_PIPES", (std::to_string(opened[1]) + " " + std::to_string(leave[0])).c_str(), 1);
        const pid_t child = start_case("Child: KeepsTheHandleOpen");
        char byte = 0;
        REQUIRE(read(opened[0], &byte, 1) == 1);
        CHECK(cudaFree(memory) == cudaErrorAlreadyMapped);
        REQUIRE(kill(child, SIGKILL) == 0);
        REQUIRE(waitpid(child, nullptr, 0) == child);
        CHECK(cudaFree(memory) == cudaSuccess);
        for (const int end : {opened[0], opened[1], leave[0], leave[1]}) close(end);
    }
    TEST_CASE("Child: KeepsTheHandleOpen" * doctest::skip()) {
        void* memory = nullptr;
        REQUIRE(cudaIpcOpenMemHandle(&memory, handed_over(), 0) == cudaSuccess);
        const std::string pipes = std::getenv("CUDA_ON_HOST_TEST_PIPES");
        const std::size_t space = pipes.find(' ');
        REQUIRE(write(std::stoi(pipes.substr(0, space)), "o", 1) == 1);
        char byte = 0;
        CHECK(read(std::stoi(pipes.substr(space + 1)), &byte, 1) == 1);
    }
}
