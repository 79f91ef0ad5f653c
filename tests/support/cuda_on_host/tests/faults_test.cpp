// fedhive's handling of failing CUDA calls: requested errors, each with the exception that it must become.
#include "aggregation/base/error.h"
#include "aggregation/math/cuda_kernels.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/data/batches.h"
#include "tests/aggregation/cuda_driver_double.h"
#include "tests/aggregation/spans.h"
#include "tests/support/cuda_on_host/control.h"

#include <doctest/doctest.h>

#include <memory>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

constexpr ArenaGeometry kGeometry{100, 3};

std::size_t bytes_in_use() {
    std::size_t free = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
    return total - free;
}

/// The next call of this name fails; `work` must throw CUDA's words, and succeed the time after.
template <typename Work>
void fault_of(const char* call, Work work, cudaError_t error = cudaErrorInvalidValue, unsigned after = 0) {
    cuda_on_host::fail(call, error, after);
    CHECK_THROWS_WITH_AS(work(), doctest::Contains(cudaGetErrorString(error)), DeviceFault);
    cuda_on_host::start_again();
    CHECK_NOTHROW(work());
}

std::unique_ptr<Aggregator> with_two_updates(std::unique_ptr<Aggregator> rule, const ParamBuffer& update) {
    rule->zero_init(update.span().size, MemorySpace::Cuda);
    rule->aggregate({update, 0, 1.0, 1.0, 1});
    rule->aggregate({update, 1, 1.0, 1.0, 1});
    return rule;
}

}  // namespace

TEST_SUITE("CudaFaults") {
    TEST_CASE("EachCallOfTheDriverThatFailsIsAFaultInCudasWords") {
        CudaDriver& driver = cuda_driver();
        char byte = 3;
        void* const memory = driver.allocate(1);
        fault_of("cudaMemGetInfo", [&] { driver.free_bytes(); });
        fault_of("cudaMemset", [&] { driver.free(driver.allocate(1)); });
        fault_of(
            "cudaDeviceSynchronize", [&] { driver.free(driver.allocate(1)); }, cudaErrorLaunchFailure);
        fault_of("cudaHostAlloc", [&] { driver.free_pinned(driver.allocate_pinned(1)); });
        fault_of("cudaFreeHost", [&] { driver.free_pinned(driver.allocate_pinned(1)); });
        fault_of("cudaMemcpy", [&] { driver.upload(memory, &byte, 1); });
        fault_of("cudaIpcGetMemHandle", [&] { driver.export_handle(memory); });
        CHECK_THROWS_AS(driver.open_handle(driver.export_handle(memory)), DeviceFault);
        CHECK_THROWS_AS(driver.close_handle(memory), DeviceFault);
        cuda_on_host::start_again();
        driver.free(memory);
        CHECK_THROWS_AS(driver.free(memory), DeviceFault);
        cuda_on_host::start_again();
    }

    TEST_CASE("MemoryThatIsNotThereIsOutOfMemoryWithWhatWasWantedAndWhatIsFree") {
        const std::size_t before = bytes_in_use();
        cuda_on_host::set_memory_bytes(before + (1 << 20));
        CHECK_THROWS_WITH_AS(CudaArena(cuda_driver(), kGeometry),
                             doctest::Contains("cudaMalloc of 2097152 bytes, 1048576 bytes are free"), OutOfMemory);
        cuda_on_host::start_again();
        cuda_on_host::fail("cudaMalloc", cudaErrorMemoryAllocation);
        CHECK_THROWS_AS(ParamBuffer(100, MemorySpace::Cuda), OutOfMemory);
        cuda_on_host::start_again();
        CHECK(bytes_in_use() == before);
    }

    TEST_CASE("BlockWithoutAHandleIsFreedAgain") {
        const std::size_t before = bytes_in_use();
        cuda_on_host::fail("cudaIpcGetMemHandle", cudaErrorInvalidValue);
        CHECK_THROWS_AS(CudaArena(cuda_driver(), kGeometry), DeviceFault);
        cuda_on_host::start_again();
        CHECK(bytes_in_use() == before);
    }

    TEST_CASE("DestructorsKeepWhatTheDriverSaysToThemselves") {
        {
            const CudaArena arena(cuda_driver(), kGeometry);
            const ParamBuffer buffer(100, MemorySpace::Cuda);
            PinnedArray<float> pinned(MemorySpace::Cuda);
            pinned.reserve(1);
            cuda_on_host::fail("cudaLaunchKernel", cudaErrorIllegalAddress);
            add(buffer, buffer);
            CHECK_THROWS_WITH_AS(synchronize(MemorySpace::Cuda), doctest::Contains("illegal memory access"), DeviceFault);
        }
        CHECK_THROWS_AS(cuda_driver().allocate(16), DeviceFault);  // the context is permanently invalid
        cuda_on_host::start_again();
        CHECK_NOTHROW(cuda_driver().free(cuda_driver().allocate(16)));
    }

    TEST_CASE("ViewKeepsWhatTheDriverSaysToItself") {
        testing::DeviceBooks books;
        testing::CudaDriverDouble coordinator(books, 1), worker(books, 2);
        const CudaArena arena(coordinator, kGeometry);
        {
            const CudaArenaView view(worker, arena.handle(), kGeometry);
            worker.close_handle(books.allocations.begin()->first);
        }
        CHECK(books.misuse == std::vector<std::string>{"close of what this process has not open"});
    }

    TEST_CASE("LaunchesThatFailAreFaults") {
        const ParamBuffer a(1000, MemorySpace::Cuda), b(1000, MemorySpace::Cuda), c(1000, MemorySpace::Cuda);
        fault_of("cudaLaunchKernel", [&] { add(a, b); });
        fault_of("cudaLaunchKernel", [&] { write_update(c, a, b); });
        fault_of("cudaLaunchKernel", [&] { with_two_updates(make_mean(), a)->finish(); });
        fault_of("cudaLaunchKernel", [&] { with_two_updates(make_median(), a)->finish(); });
        fault_of("cudaMemcpyAsync", [&] { copy(a, b); });
        fault_of("cudaMemsetAsync", [&] { set_zero(a); });
        // Where one operation makes several calls: the second and the third fail.
        fault_of("cudaMemcpy", [&] { with_two_updates(make_mean(), a)->finish(); });
        fault_of(
            "cudaMemcpy", [&] { with_two_updates(make_mean(), a)->finish(); }, cudaErrorInvalidValue, 1);
        fault_of(
            "cudaMemcpy", [&] { with_two_updates(make_mean(), a)->finish(); }, cudaErrorInvalidValue, 2);
        fault_of("cudaMemcpy", [&] { with_two_updates(make_median(), a)->finish(); });
        fault_of("cudaMemcpy", [&] { write_update(c, a, b); });

        std::int64_t label = 0;
        const clients::element::GatherTerms none{
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 1, clients::ValueType::U8};
        CHECK_THROWS_WITH_AS(clients::gather_on_device(none, 1, a.span().data, {&label, nullptr}),
                             doctest::Contains("invalid configuration"), DeviceFault);
        cuda_on_host::start_again();
    }

    TEST_CASE("ScratchMemoryThatCannotGrowIsOutOfMemoryAndGrowsLater") {
        // Larger than any buffer that earlier calls have left.
        const ParamBuffer wide(std::size_t{1} << 20, MemorySpace::Cuda);
        const auto update = [&] { write_update(wide, wide, wide); };
        cuda_on_host::fail("cudaMalloc", cudaErrorMemoryAllocation);
        CHECK_THROWS_AS(update(), OutOfMemory);
        cuda_on_host::start_again();
        CHECK_NOTHROW(update());

        const ParamBuffer one(1, MemorySpace::Cuda);
        const auto many = [&](std::unique_ptr<Aggregator> rule, std::size_t count) {
            rule->zero_init(1, MemorySpace::Cuda);
            for (std::size_t k = 0; k < count; ++k) rule->aggregate({one, k, 1.0, 1.0, 1});
            rule->finish();
        };
        cuda_on_host::fail("cudaMalloc", cudaErrorMemoryAllocation, 1);  // the first is the rule's own
        CHECK_THROWS_AS(many(make_mean(), 5000), OutOfMemory);
        cuda_on_host::start_again();
        CHECK_NOTHROW(many(make_mean(), 5000));
        cuda_on_host::fail("cudaMalloc", cudaErrorMemoryAllocation, 1);
        CHECK_THROWS_AS(many(make_median(), 20000), OutOfMemory);
        cuda_on_host::start_again();
    }

    TEST_CASE("WorkGoesToTheStreamThatWasSet") {
        cudaStream_t stream = nullptr;
        REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
        const ParamBuffer buffer = testing::upload(Floats(10, 2.0F), MemorySpace::Cuda);
        void* const before = kernels::stream();
        kernels::set_stream(stream);
        add(buffer, buffer);
        add(buffer, buffer);
        CHECK(kernels::stream() == stream);
        CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        kernels::set_stream(before);
        CHECK(cudaStreamDestroy(stream) == cudaSuccess);
        CHECK(testing::download(buffer) == Floats(10, 8.0F));
        cuda_on_host::start_again();
    }

    TEST_CASE("VersionsAndNameOfTheDeviceAreTold") {
        CHECK(cuda_versions().describe() == "runtime 13.0 · driver 13.0 · cuda_on_host");
        CHECK(cuda_versions().architecture == 90);
        cuda_on_host::fail("cudaGetDeviceCount", cudaErrorInitializationError);
        CHECK(cuda_versions().describe() == "runtime 13.0 · driver 13.0 · no device");
        cuda_on_host::start_again();
    }
}
