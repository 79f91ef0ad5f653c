#include "aggregation/math/gradient_step.h"

#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

void gradient_step_conforms(MemorySpace space, std::size_t size) {
    for (const float momentum : {0.0F, 0.9F}) {
        const SgdOptions options{.lr = 0.3F, .momentum = momentum, .weight_decay = 0.01F};
        const auto optimizer = make_gradient_step(options);
        ParamBuffer global = testing::upload(testing::random_floats(size, 1), space);
        const ParamBuffer expected = testing::upload(testing::random_floats(size, 1), space);
        const ParamBuffer velocity = testing::upload(Floats(momentum == 0.0F ? 0 : size, 0.0F), space);
        for (std::uint32_t step = 0; step < 3; ++step) {
            const ParamBuffer gradient = testing::upload(testing::random_floats(size, 2 + step), space);
            ParamBuffer next = testing::poisoned(size, space);
            optimizer->step(next, global, {gradient, 1.0, 1});
            sgd_step(expected, gradient, velocity, options);
            CHECK(testing::same_bits(testing::download(next), testing::download(expected)));
            global = std::move(next);
        }
        const auto moments = optimizer->moments(size, space);
        REQUIRE(moments.size() == (momentum == 0.0F ? 0 : 1));
        if (!moments.empty()) CHECK(testing::same_bits(testing::download(moments[0].values), testing::download(velocity)));
    }
}

void gradient_step_conforms(MemorySpace space) {
    for (const std::size_t size : {1000U, 8193U, 100003U}) gradient_step_conforms(space, size);
    for (const float momentum : {0.0F, 0.9F})
        conformance::server_optimizer_conforms(
            [=](std::size_t) { return make_gradient_step({.lr = 0.3F, .momentum = momentum, .weight_decay = 0.01F}); }, space);
}

}  // namespace

TEST_SUITE("GradientStep") {
    TEST_CASE("GradientStepOnTheHostIsSgdStep") { gradient_step_conforms(MemorySpace::Host); }

    TEST_CASE("Gpu: GradientStepIsSgdStep") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        gradient_step_conforms(MemorySpace::Cuda);
    }

    TEST_CASE("GradientStepSmallNumbersAreExact") {
        const auto optimizer = make_gradient_step({.lr = 0.5F, .momentum = 0.5F});
        const Floats global{8.0F};
        const Floats gradient{4.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(gradient)});
        CHECK(next == Floats{6.0F});
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(gradient)});
        CHECK(next == Floats{5.0F});  // v = 0.5 * 4 + 4
    }
}
