// When work runs, and in which order.
#include "tests/support/cuda_on_host/control.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

namespace {

/// One byte, visible to host and device.
struct Byte {
    Byte() {
        void* memory = nullptr;
        REQUIRE(cudaHostAlloc(&memory, 1, cudaHostAllocDefault) == cudaSuccess);
        value = static_cast<volatile char*>(memory);
        *value = 0;
    }
    Byte(const Byte&) = delete;
    Byte& operator=(const Byte&) = delete;
    ~Byte() { cudaFreeHost(const_cast<char*>(value)); }
    void set_to(char to, cudaStream_t stream = nullptr) const {
        CHECK(cudaMemsetAsync(const_cast<char*>(value), to, 1, stream) == cudaSuccess);
    }
    volatile char* value = nullptr;
};

struct Stream {
    explicit Stream(unsigned flags = cudaStreamDefault) { REQUIRE(cudaStreamCreateWithFlags(&stream, flags) == cudaSuccess); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { cudaStreamDestroy(stream); }
    cudaStream_t stream = nullptr;
};

struct Event {
    Event() { REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { cudaEventDestroy(event); }
    cudaEvent_t event = nullptr;
};

/// The byte's values after work in these two streams, `first` before `second`, for ten seeds.
std::set<int> results(cudaStream_t first, cudaStream_t second) {
    std::set<int> seen;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        cuda_on_host::set_seed(seed);
        const Byte byte;
        byte.set_to(1, first);
        byte.set_to(2, second);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        seen.insert(*byte.value);
    }
    return seen;
}

}  // namespace

TEST_SUITE("Queue") {
    TEST_CASE("WorkRunsOnlyWhenSomebodyWaitsUnlessEager") {
        const Byte byte;
        byte.set_to(1);
        CHECK(*byte.value == 0);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(*byte.value == 1);
        cuda_on_host::set_eager(true);
        byte.set_to(2);
        CHECK(*byte.value == 2);
        cuda_on_host::start_again();
        byte.set_to(3);
        CHECK(*byte.value == 2);
    }

    TEST_CASE("CopiesWaitAsMuchAsTheyHaveTo") {
        const Byte pinned;
        void* device = nullptr;
        REQUIRE(cudaMalloc(&device, 1) == cudaSuccess);
        char pageable = 5;
        CHECK(cudaMemcpy(device, &pageable, 1, cudaMemcpyHostToDevice) == cudaSuccess);
        pageable = 6;  // it was read before the call returned
        auto* const on_host = const_cast<char*>(pinned.value);
        CHECK(cudaMemcpyAsync(on_host, device, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
        CHECK(*pinned.value == 0);
        CHECK(cudaMemcpyAsync(&pageable, device, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
        CHECK(pageable == 5);
        CHECK(*pinned.value == 5);
        *pinned.value = 9;
        CHECK(cudaMemcpy(device, on_host, 1, cudaMemcpyHostToDevice) == cudaSuccess);
        *pinned.value = 1;  // the device has read it already
        CHECK(cudaMemcpy(&pageable, device, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
        CHECK(pageable == 9);
        CHECK(cudaFree(device) == cudaSuccess);
    }

    TEST_CASE("StreamsHaveNoOrderButTheirOwnAndThatOfTheLegacyStream") {
        const Stream one, other;
        const Stream free(cudaStreamNonBlocking);
        CHECK(results(one.stream, one.stream) == std::set<int>{2});
        CHECK(results(one.stream, other.stream) == std::set<int>{1, 2});
        CHECK(results(one.stream, nullptr) == std::set<int>{2});
        CHECK(results(cudaStreamLegacy, one.stream) == std::set<int>{2});
        CHECK(results(free.stream, nullptr) == std::set<int>{1, 2});
        CHECK(results(nullptr, free.stream) == std::set<int>{1, 2});
    }

    TEST_CASE("StreamWaitsForItsOwnWorkAndAsksWithoutWaiting") {
        const Stream stream, other;
        const Byte byte;
        byte.set_to(1, stream.stream);
        byte.set_to(2, stream.stream);
        CHECK(cudaStreamSynchronize(other.stream) == cudaSuccess);
        CHECK(*byte.value == 0);
        CHECK(cudaStreamQuery(stream.stream) == cudaErrorNotReady);
        CHECK(*byte.value == 1);
        CHECK(cudaStreamQuery(stream.stream) == cudaSuccess);
        CHECK(*byte.value == 2);
        byte.set_to(3, stream.stream);
        CHECK(cudaStreamSynchronize(stream.stream) == cudaSuccess);
        CHECK(*byte.value == 3);
        CHECK(cudaGetLastError() == cudaErrorNotReady);
        Stream* const gone = new Stream;
        const cudaStream_t named = gone->stream;
        delete gone;
        CHECK(cudaStreamSynchronize(named) == cudaErrorInvalidResourceHandle);
    }

    TEST_CASE("EventsOrderStreamsAndCanBeWaitedFor") {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            cuda_on_host::set_seed(seed);
            const Stream first, second;
            const Event event;
            const Byte byte;
            CHECK(cudaEventQuery(event.event) == cudaSuccess);  // never recorded
            byte.set_to(1, first.stream);
            CHECK(cudaEventRecord(event.event, first.stream) == cudaSuccess);
            CHECK(cudaStreamWaitEvent(second.stream, event.event) == cudaSuccess);
            byte.set_to(2, second.stream);
            CHECK(cudaEventSynchronize(event.event) == cudaSuccess);
            CHECK(*byte.value != 0);
            CHECK(cudaStreamSynchronize(second.stream) == cudaSuccess);
            CHECK(*byte.value == 2);
            byte.set_to(3, first.stream);
            CHECK(cudaEventRecord(event.event, first.stream) == cudaSuccess);
            CHECK(cudaEventQuery(event.event) == cudaErrorNotReady);
            CHECK(cudaEventQuery(event.event) == cudaSuccess);
            CHECK(*byte.value == 3);
        }
    }

    TEST_CASE("EventThatIsDestroyedIsStillWaitedForByWhatHasIt") {
        const Stream first, second;
        const Byte byte;
        cudaEvent_t event = nullptr;
        REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDefault) == cudaSuccess);
        byte.set_to(1, first.stream);
        CHECK(cudaEventRecord(event, first.stream) == cudaSuccess);
        CHECK(cudaStreamWaitEvent(second.stream, event) == cudaSuccess);
        byte.set_to(2, second.stream);
        CHECK(cudaEventDestroy(event) == cudaSuccess);
        CHECK(cudaEventDestroy(event) == cudaErrorInvalidResourceHandle);
        CHECK(cudaStreamSynchronize(second.stream) == cudaSuccess);
        CHECK(*byte.value == 2);
    }

    TEST_CASE("ErrorsHaveTheNamesAndWordsOfCuda") {
        CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
        CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) == "an illegal memory access was encountered");
    }
}
