#include "aggregation/math/server_optimizer.h"

#include "aggregation/math/buffers_mean.h"

#include "tests/aggregation/reference.h"
#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

constexpr std::size_t kSize = 1000;

/// Three steps of `optimizer` must equal `expected_next(global, aggregate)` bit for bit.
template <typename Reference>
void follows(ServerOptimizer& optimizer, MemorySpace space, std::size_t size, Reference expected_next) {
    Floats global = testing::random_floats(size, 1);
    for (std::uint32_t step = 0; step < 3; ++step) {
        const Floats aggregate = testing::random_floats(size, 2 + step);
        const ParamBuffer next = testing::poisoned(size, space);
        optimizer.step(next, testing::upload(global, space), {testing::upload(aggregate, space)});
        global = expected_next(global, aggregate);
        CHECK(testing::same_bits(testing::download(next), global));
    }
}

constexpr ServerSgdOptions kMomentum{.lr = 0.7F, .momentum = 0.9F};
constexpr ServerAdaptiveOptions adaptive(SecondMoment second) {
    return {.lr = 0.05F, .beta1 = 0.9F, .beta2 = 0.99F, .tau = 0.001F, .second_moment = second};
}
constexpr ServerAdaptiveOptions kAdam = adaptive(SecondMoment::Average);
constexpr SecondMoment kSecondMoments[] = {SecondMoment::Sum, SecondMoment::Average, SecondMoment::Sign};

void references_are_followed(MemorySpace space, std::size_t size) {
    Floats velocity(size, 0.0F);
    follows(*make_server_sgd(kMomentum), space, size, [&](const Floats& global, const Floats& aggregate) {
        return reference::server_momentum(global, aggregate, velocity, kMomentum);
    });

    follows(*make_server_sgd({.lr = 1.0F, .momentum = 0.0F}), space, size, [](Floats global, const Floats& aggregate) {
        for (std::size_t i = 0; i < global.size(); ++i) global[i] += aggregate[i];
        return global;
    });

    for (const SecondMoment second : kSecondMoments) {
        Floats m(size, 0.0F);
        Floats v(size, 0.001F * 0.001F);
        follows(*make_server_adaptive(adaptive(second)), space, size, [&](const Floats& global, const Floats& aggregate) {
            return reference::server_adaptive(global, aggregate, m, v, adaptive(second));
        });
    }
}

void server_optimizers_conform(MemorySpace space) {
    for (const std::size_t size : {kSize, std::size_t{8193}, std::size_t{100003}}) references_are_followed(space, size);

    conformance::server_optimizer_conforms([] { return make_server_sgd({.lr = 0.7F, .momentum = 0.0F}); }, space);
    for (const ServerOptimizerSpec& spec : server_optimizer_catalog()) {
        CAPTURE(spec.name);
        conformance::server_optimizer_conforms([&] { return spec.build(completed({}, spec.keys)); }, space);
    }
}

}  // namespace

TEST_SUITE("ServerOptimizer") {
    TEST_CASE("ServerOptimizersOnTheHostConform") { server_optimizers_conform(MemorySpace::Host); }

    TEST_CASE("Gpu: ServerOptimizersConform") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        server_optimizers_conform(MemorySpace::Cuda);
    }

    TEST_CASE("BuffersTakeTheMeanWhateverTheOptimiserMakesOfParameters") {
        const Floats global{8.0F, 8.0F, 1.0F};
        const Floats aggregate{4.0F, 4.0F, -0.5F};
        for (const auto& make :
             {+[] { return make_server_sgd({.lr = 0.5F, .momentum = 0.5F}); }, +[] { return make_server_adaptive(kAdam); }}) {
            const auto alone = make();
            const auto with_buffers = make_buffers_mean(make(), 2);
            CHECK(with_buffers->moments(3, MemorySpace::Host).size() == alone->moments(3, MemorySpace::Host).size());
            Floats expected(3), next(3);
            for (int step = 0; step < 2; ++step) {
                alone->step(ParamSpan(expected), ConstParamSpan(global), {ConstParamSpan(aggregate)});
                with_buffers->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
                CHECK(expected[2] != 0.5F);
                CHECK(next == Floats{expected[0], expected[1], 0.5F});
            }
        }
    }

    TEST_CASE("ServerSgdSmallNumbersAreExact") {
        const auto optimizer = make_server_sgd({.lr = 0.5F, .momentum = 0.5F});
        const Floats global{8.0F};
        const Floats aggregate{4.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next == Floats{10.0F});
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next == Floats{11.0F});  // v = 0.5 * 4 + 4
    }

    TEST_CASE("MomentsBeforeTheFirstStepAreThoseOfThePaper") {
        CHECK(make_server_sgd({.lr = 0.5F, .momentum = 0.0F})->moments(kSize, MemorySpace::Host).empty());
        const auto momentum = make_server_sgd({.lr = 0.5F, .momentum = 0.5F});
        const auto velocity = momentum->moments(kSize, MemorySpace::Host);
        REQUIRE(velocity.size() == 1);
        CHECK(testing::download(velocity[0].values) == Floats(kSize, 0.0F));
        const auto adam = make_server_adaptive({.tau = 0.5F});
        const auto moments = adam->moments(kSize, MemorySpace::Host);
        REQUIRE(moments.size() == 2);
        CHECK(testing::download(moments[0].values) == Floats(kSize, 0.0F));
        CHECK(testing::download(moments[1].values) == Floats(kSize, 0.25F));  // tau^2
    }

    TEST_CASE("ServerAdamFirstStepIsAsInThePaper") {
        const auto optimizer = make_server_adaptive({.lr = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .tau = 1.0F});
        const Floats global{1.0F};
        const Floats aggregate{4.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next[0] == 1.0F + 0.5F * 2.0F / (std::sqrt(4.75F) + 1.0F));  // m = 2, v = 0.75 * 1 + 0.25 * 16
    }

    TEST_CASE("SecondMomentsAreThoseOfThePaper") {
        const auto second_after = [](SecondMoment second, float aggregate) {
            const auto optimizer =
                make_server_adaptive({.lr = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .tau = 2.0F, .second_moment = second});
            const Floats global{1.0F}, direction{aggregate};
            Floats next(1);
            optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(direction)});
            return testing::download(optimizer->moments(1, MemorySpace::Host)[1].values)[0];
        };
        // v begins at 4.
        CHECK(second_after(SecondMoment::Sum, 4.0F) == 20.0F);
        CHECK(second_after(SecondMoment::Average, 4.0F) == 7.0F);
        CHECK(second_after(SecondMoment::Sign, 4.0F) == 8.0F);   // 4 + 16 / 4: the square is larger
        CHECK(second_after(SecondMoment::Sign, 1.0F) == 3.75F);  // 4 - 1 / 4: it is smaller
        CHECK(second_after(SecondMoment::Sign, 2.0F) == 4.0F);   // neither
    }

    TEST_CASE("CatalogBuildsEveryServer") {
        CHECK(names_of(server_optimizer_catalog()) ==
              std::vector<std::string>{"sgd", "momentum", "adam", "yogi", "adagrad", "dp_ftrl"});
        for (const ServerOptimizerSpec& spec : server_optimizer_catalog()) {
            CAPTURE(spec.name);
            CHECK_FALSE(spec.summary.empty());
            CHECK(spec.build(completed({}, spec.keys)) != nullptr);
        }
    }

    TEST_CASE("ServerAdamWithoutAnUpdateStandsStill") {
        const auto optimizer = make_server_adaptive({.lr = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .tau = 2.0F});
        const Floats global{1.0F};
        const Floats aggregate{0.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next == global);
        CHECK(optimizer->moments(1, MemorySpace::Host)[1].values.data[0] == 3.0F);  // 0.75 * 4
    }
}
