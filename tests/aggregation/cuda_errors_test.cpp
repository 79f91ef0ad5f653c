// A failed CUDA call reports its error once and clears it from the runtime; otherwise the next launch check, LibTorch's
// included, would find it. Without a driver the error always stays.
#ifdef FEDHIVE_WITH_CUDA

#include "aggregation/base/error.h"
#include "aggregation/math/cuda_kernels.h"
#include "aggregation/memory/cuda_driver.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;

TEST_SUITE("CudaErrors") {
    constexpr std::size_t kMoreThanThereIs = std::size_t{1} << 60;

    TEST_CASE("Gpu: CudaMemoryThatIsRefusedLeavesNoErrorInTheRuntime") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        CHECK_THROWS_AS(cuda_driver().allocate(kMoreThanThereIs), OutOfMemory);
        CHECK(cudaPeekAtLastError() == cudaSuccess);
        CHECK_THROWS_AS(cuda_driver().allocate_pinned(kMoreThanThereIs), Fault);
        CHECK(cudaPeekAtLastError() == cudaSuccess);
        CHECK(kernels::median(nullptr, nullptr, kMoreThanThereIs / sizeof(float*), 1) != nullptr);  // its scratch memory
        CHECK(cudaPeekAtLastError() == cudaSuccess);
    }

    TEST_CASE("Gpu: CudaWorksOnAfterMemoryWasRefused") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const ParamBuffer ones = testing::upload(testing::Floats(100, 1.0F), MemorySpace::Cuda);
        CHECK_THROWS_AS(cuda_driver().allocate(kMoreThanThereIs), OutOfMemory);
        add(ones, ones);
        synchronize(MemorySpace::Cuda);
        CHECK(testing::download(ones) == testing::Floats(100, 2.0F));
    }
}

#endif
