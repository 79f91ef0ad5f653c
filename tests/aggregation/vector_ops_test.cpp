#include "tests/conformance/vector_ops_conformance.h"
#include "tests/support/skip.h"

using namespace fedhive;
using namespace fedhive::aggregation;

TEST_SUITE("VectorOps"){TEST_CASE("VectorOpsOnTheHostConform"){conformance::vector_ops_conform(MemorySpace::Host);
}

TEST_CASE("Gpu: VectorOpsConform") {
    if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
    conformance::vector_ops_conform(MemorySpace::Cuda);
}

TEST_CASE("SgdStepSmallNumbersAreExact") {
    testing::Floats parameters{8.0F, 4.0F};
    testing::Floats velocity{2.0F, 0.0F};
    sgd_step(ParamSpan(parameters), ConstParamSpan(testing::Floats{1.0F, -2.0F}), ParamSpan(velocity),
             {.lr = 0.5F, .momentum = 0.5F, .weight_decay = 0.25F, .nesterov = false});
    CHECK(velocity == testing::Floats{4.0F, -1.0F});  // 0.5 * 2 + (1 + 0.25 * 8);  0 + (-2 + 0.25 * 4)
    CHECK(parameters == testing::Floats{6.0F, 4.5F});
}

TEST_CASE("SpansInDifferentMemorySpacesAreRefused") {
    testing::Floats values(16, 1.0F);
    const ParamSpan host(values);
    const ParamSpan claimed(values.data(), 16, MemorySpace::Cuda);
    CHECK_THROWS_AS(add(host, claimed), ShapeError);
    CHECK_THROWS_AS(scale(host, claimed, 1.0), ShapeError);
    CHECK_THROWS_AS(write_update(host, claimed, host), ShapeError);
}

#ifndef FEDHIVE_WITH_CUDA
TEST_CASE("CudaSpansInABuildWithoutCudaAreAFault") {
    testing::Floats values(16, 1.0F);
    const ParamSpan claimed(values.data(), 16, MemorySpace::Cuda);
    CHECK_THROWS_WITH_AS(add(claimed, claimed), doctest::Contains("built without CUDA"), Fault);
    CHECK_THROWS_WITH_AS(ParamBuffer(16, MemorySpace::Cuda), doctest::Contains("built without CUDA"), Fault);
    CHECK_THROWS_WITH_AS(synchronize(MemorySpace::Cuda), doctest::Contains("built without CUDA"), Fault);
}
#endif
}

TEST_SUITE("ParamBuffer") {
    TEST_CASE("ParamBufferIsZeroedAndAligned") {
        const ParamBuffer buffer(1000, MemorySpace::Host);
        CHECK(testing::download(buffer) == testing::Floats(1000, 0.0F));
        CHECK(reinterpret_cast<std::uintptr_t>(buffer.span().data) % 256 == 0);
    }

    TEST_CASE("ParamBufferLargerThanMemoryIsAFault") {
        CHECK_THROWS_AS(ParamBuffer(std::numeric_limits<std::size_t>::max() / 4, MemorySpace::Host), Fault);
#ifndef FEDHIVE_SANITIZED  // the address sanitizer aborts instead of returning nullptr
        CHECK_THROWS_WITH_AS(ParamBuffer(std::size_t{1} << 60, MemorySpace::Host),
                             doctest::Contains("4611686018427387904 bytes"), Fault);
#endif
    }
}
