#include "aggregation/memory/cuda_arena.h"

#include "tests/aggregation/cuda_driver_double.h"
#include "tests/conformance/arena_conformance.h"
#include "tests/support/run_case.h"
#include "tests/support/skip.h"

#include <cstdlib>
#include <optional>

using namespace fedhive::aggregation;
using fedhive::Fault;
using testing::CudaDriverDouble;
using testing::DeviceBooks;

namespace {

constexpr int kCoordinator = 1;
constexpr int kWorker = 2;
constexpr ArenaGeometry kGeometry{100, 3};

/// Two processes on one device. Runs `call`, which must throw a message that contains `what`.
struct Misuse {
    DeviceBooks books;
    CudaDriverDouble coordinator{books, kCoordinator};
    CudaDriverDouble worker{books, kWorker};

    template <typename Call>
    void refused(const char* what, Call call) {
        CHECK_THROWS_WITH_AS(call(), doctest::Contains(what), Fault);
        CHECK(books.misuse.size() == 1);
        books.misuse.clear();
    }
};

const char* const kHandleVariable = "FEDHIVE_TEST_IPC_HANDLE";

std::string hex(const IpcHandle& handle) {
    std::string digits;
    for (const unsigned char byte : handle.bytes) digits += fmt::format("{:02x}", byte);
    return digits;
}

IpcHandle handle_of(const std::string& digits) {
    IpcHandle handle;
    for (std::size_t i = 0; i < handle.bytes.size(); ++i)
        handle.bytes.at(i) = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
    return handle;
}

/// Runs the case in a child process, which reads the handle by handed_over().
int status_of_case(const std::string& name, const IpcHandle& handle) {
    setenv(kHandleVariable, hex(handle).c_str(), 1);
    const int status = fedhive::testing::status_of_case(name);
    unsetenv(kHandleVariable);
    return status;
}

IpcHandle handed_over() {
    const char* const digits = std::getenv(kHandleVariable);
    REQUIRE(digits != nullptr);
    return handle_of(digits);
}

}  // namespace

TEST_SUITE("CudaArena") {
    TEST_CASE("CudaArenaRightUseLeavesTheBooksEmpty") {
        DeviceBooks books;
        CudaDriverDouble coordinator(books, kCoordinator);
        CudaDriverDouble worker(books, kWorker);
        CudaDriverDouble other_worker(books, kWorker + 1);
        {
            const CudaArena arena(coordinator, kGeometry);
            CHECK(books.allocations.begin()->second.bytes == std::size_t{2} << 20);  // whole pages
            CHECK(books.handles.size() == 1);
            {
                const CudaArenaView view(worker, arena.handle(), kGeometry);
                const CudaArenaView other(other_worker, arena.handle(), kGeometry);
                CHECK(view.slot(2).data == arena.slot(2).data);
                CHECK(view.slot(1).space == MemorySpace::Cuda);
                CHECK(books.allocations.begin()->second.openers.size() == 2);
            }
            CHECK(books.allocations.begin()->second.openers.empty());
            const CudaArenaView replacement(worker, arena.handle(), kGeometry);  // a restarted worker
        }
        CHECK(books.empty());
        CHECK(books.misuse.empty());
    }

    TEST_CASE("CudaArenaDestroyedBeforeItsViewIsNoticed") {
        DeviceBooks books;
        CudaDriverDouble coordinator(books, kCoordinator);
        CudaDriverDouble worker(books, kWorker);
        std::optional<CudaArena> arena;
        arena.emplace(coordinator, kGeometry);
        void* const memory = arena->global(0).data;
        std::optional<CudaArenaView> view;
        view.emplace(worker, arena->handle(), kGeometry);
        arena.reset();
        REQUIRE(books.misuse.size() == 1);
        CHECK(books.misuse.front() == "free before every opener has closed");
        view.reset();
        coordinator.free(memory);
        CHECK(books.empty());
    }

    TEST_CASE("CudaDriverDoubleRefusesEachMisuse") {
        Misuse m;
        void* memory = m.coordinator.allocate(4096);
        const IpcHandle handle = m.coordinator.export_handle(memory);
        m.refused("open in the process that exported", [&] { m.coordinator.open_handle(handle); });
        m.refused("no handle", [&] { m.worker.open_handle(IpcHandle{}); });
        m.refused("export by a process that is not the owner", [&] { m.worker.export_handle(memory); });
        m.refused("free by a process that is not the owner", [&] { m.worker.free(memory); });
        void* opened = m.worker.open_handle(handle);
        m.refused("free before every opener has closed", [&] { m.coordinator.free(memory); });
        m.worker.close_handle(opened);
        m.refused("has not open", [&] { m.worker.close_handle(opened); });
        m.coordinator.free(memory);
        m.refused("close of freed memory", [&] { m.worker.close_handle(opened); });
        m.refused("not allocated", [&] { m.coordinator.free(memory); });
        m.refused("handle to freed memory", [&] { m.worker.open_handle(handle); });
        CHECK(m.books.empty());
    }

    TEST_CASE("CudaArenaWithoutRoomIsAFaultAndLeavesNothing") {
        DeviceBooks books;
        books.limit_bytes = 1 << 20;
        CudaDriverDouble coordinator(books, kCoordinator);
        CHECK_THROWS_WITH_AS(CudaArena(coordinator, kGeometry), doctest::Contains("2097152 bytes"), Fault);
        CHECK(books.empty());
    }

#ifndef FEDHIVE_WITH_CUDA
    TEST_CASE("CudaDriverOfABuildWithoutCudaSaysSo") {
        CHECK_THROWS_WITH_AS(cuda_driver(), doctest::Contains("built without CUDA"), Fault);
        CHECK(cuda_versions().describe().find("not built in") == 0);
    }
#endif

    TEST_CASE("Gpu: CudaArenaConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const CudaArena arena(cuda_driver(), kGeometry);
        conformance::arena_conforms(arena, arena);
        const CudaArena with_more(cuda_driver(), {100, 3, 2, 70, 1, 0, 33});
        conformance::arena_conforms(with_more, with_more);
    }

    TEST_CASE("Gpu: CudaArenaAnotherProcessWritesItsSlot") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const CudaArena arena(cuda_driver(), kGeometry);
        copy(arena.global(0), ConstParamSpan(testing::Floats(100, 7.0F)));
        synchronize(MemorySpace::Cuda);
        CHECK(status_of_case("GpuChild: CudaArenaViewCopiesTheGlobalModelToSlotOne", arena.handle()) == 0);
        CHECK(testing::download(arena.slot(1)) == testing::Floats(100, 7.0F));
        CHECK(testing::download(arena.slot(0)) == testing::Floats(100, 0.0F));
    }

    // Child process of the case above; skipped in a normal run.
    TEST_CASE("GpuChild: CudaArenaViewCopiesTheGlobalModelToSlotOne" * doctest::skip()) {
        const CudaArenaView view(cuda_driver(), handed_over(), kGeometry);
        copy(view.slot(1), view.global(0));
        synchronize(MemorySpace::Cuda);
    }

    // Other processes see the effects of a constructor or call as soon as it returns, even if this process never synchronizes.
    TEST_CASE("Gpu: CudaArenaIsZeroedBeforeAnotherProcessSeesIt") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const CudaArena arena(cuda_driver(), kGeometry);
        CHECK(status_of_case("GpuChild: CudaArenaViewIsZero", arena.handle()) == 0);
    }
    TEST_CASE("GpuChild: CudaArenaViewIsZero" * doctest::skip()) {
        const CudaArenaView view(cuda_driver(), handed_over(), kGeometry);
        CHECK(testing::same_bits(testing::download(view.global(0)), testing::Floats(100, 0.0F)));
        CHECK(testing::same_bits(testing::download(view.slot(2)), testing::Floats(100, 0.0F)));
    }

    TEST_CASE("Gpu: CudaUploadIsThereBeforeAnotherProcessSeesIt") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const CudaBlock block(cuda_driver(), 4000);
        const testing::Floats values = testing::random_floats(1000, 1);
        cuda_driver().upload(block.data(), values.data(), 4000);
        CHECK(status_of_case("GpuChild: CudaBlockViewHoldsWhatWasUploaded", block.handle()) == 0);
    }
    TEST_CASE("GpuChild: CudaBlockViewHoldsWhatWasUploaded" * doctest::skip()) {
        const CudaBlockView view(cuda_driver(), handed_over());
        const ConstParamSpan uploaded(reinterpret_cast<const float*>(view.data()), 1000, MemorySpace::Cuda);
        CHECK(testing::same_bits(testing::download(uploaded), testing::random_floats(1000, 1)));
    }
}
