#include "aggregation/math/server_optimizer.h"

#include "tests/aggregation/reference.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

constexpr std::size_t kSize = 1000;

/// Three steps of `optimizer` against `expected_next(global, aggregate)`, bit for bit.
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

/// A second one that is given the moments of the first steps as the first would have.
void goes_on_from_its_moments(ServerOptimizer& first, ServerOptimizer& second, MemorySpace space) {
    const ParamBuffer global = testing::upload(testing::random_floats(kSize, 1), space);
    const ParamBuffer aggregate = testing::upload(testing::random_floats(kSize, 2), space);
    const ParamBuffer next = testing::poisoned(kSize, space);
    first.step(next, global, {aggregate});
    const auto from = first.moments(kSize, space);
    const auto to = second.moments(kSize, space);  // before its first step
    REQUIRE(from.size() == to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        CHECK(std::string(from[i].name) == to[i].name);
        const bool of_squares = std::string(to[i].name) == "second_moment";
        CHECK(testing::same_bits(testing::download(to[i].values), Floats(kSize, of_squares ? 0.25F : 0.0F)));
        copy(to[i].values, from[i].values);
    }
    const ParamBuffer other_next = testing::poisoned(kSize, space);
    first.step(next, global, {aggregate});
    second.step(other_next, global, {aggregate});
    CHECK(testing::same_bits(testing::download(next), testing::download(other_next)));
}

constexpr ServerSgdOptions kMomentum{.lr = 0.7F, .momentum = 0.9F};
constexpr ServerAdamOptions kAdam{.lr = 0.05F, .beta1 = 0.9F, .beta2 = 0.99F, .tau = 0.001F};

void references_are_followed(MemorySpace space, std::size_t size) {
    Floats velocity(size, 0.0F);
    follows(*make_server_sgd(kMomentum), space, size, [&](const Floats& global, const Floats& aggregate) {
        return reference::server_momentum(global, aggregate, velocity, kMomentum);
    });

    follows(*make_server_sgd({.lr = 1.0F, .momentum = 0.0F}), space, size, [](Floats global, const Floats& aggregate) {
        for (std::size_t i = 0; i < global.size(); ++i) global[i] += aggregate[i];
        return global;
    });

    Floats m(size, 0.0F);
    Floats v(size, 0.001F * 0.001F);
    follows(*make_server_adam(kAdam), space, size, [&](const Floats& global, const Floats& aggregate) {
        return reference::server_adam(global, aggregate, m, v, kAdam);
    });
}

void server_optimizers_conform(MemorySpace space) {
    for (const std::size_t size : {kSize, std::size_t{8193}, std::size_t{100003}}) references_are_followed(space, size);

    for (const auto& make :
         {+[] { return make_server_sgd({.lr = 0.7F, .momentum = 0.9F}); }, +[] { return make_server_adam({.tau = 0.5F}); }})
        goes_on_from_its_moments(*make(), *make(), space);

    const ParamBuffer some(16, space);
    const ParamBuffer same(16, space);
    const ParamBuffer more(32, space);
    const ParamBuffer next(32, space);
    for (const auto& optimizer : {make_server_sgd(kMomentum), make_server_adam(kAdam)}) {
        CHECK_THROWS_AS(optimizer->step(some, more, {more}), ShapeError);
        CHECK_THROWS_AS(optimizer->step(some, same, {more}), ShapeError);
        CHECK_THROWS_AS(optimizer->step(some, some, {same}), ShapeError);
        optimizer->step(some, same, {same});
        CHECK_THROWS_AS(optimizer->step(next, more, {more}), ShapeError);  // moments of another size
        CHECK_THROWS_AS(optimizer->moments(32, space), ShapeError);
    }
}

}  // namespace

TEST_SUITE("ServerOptimizer") {
    TEST_CASE("ServerOptimizersOnTheHostConform") { server_optimizers_conform(MemorySpace::Host); }

    TEST_CASE("Gpu: ServerOptimizersConform") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        server_optimizers_conform(MemorySpace::Cuda);
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

    TEST_CASE("RuleWithoutMemoryHasNoMoments") {
        CHECK(make_server_sgd({.lr = 0.5F, .momentum = 0.0F})->moments(kSize, MemorySpace::Host).empty());
        const auto momentum = make_server_sgd({.lr = 0.5F, .momentum = 0.5F});
        CHECK(momentum->moments(kSize, MemorySpace::Host).size() == 1);
        CHECK(make_server_adam({})->moments(kSize, MemorySpace::Host).size() == 2);
    }

    TEST_CASE("ServerAdamFirstStepIsAsInThePaper") {
        const auto optimizer = make_server_adam({.lr = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .tau = 1.0F});
        const Floats global{1.0F};
        const Floats aggregate{4.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next[0] == 1.0F + 0.5F * 2.0F / (std::sqrt(4.75F) + 1.0F));  // m = 2, v = 0.75 * 1 + 0.25 * 16
    }

    TEST_CASE("ServerAdamWithoutAnUpdateStandsStill") {
        const auto optimizer = make_server_adam({.lr = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .tau = 2.0F});
        const Floats global{1.0F};
        const Floats aggregate{0.0F};
        Floats next(1);
        optimizer->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next == global);
        CHECK(optimizer->moments(1, MemorySpace::Host)[1].values.data[0] == 3.0F);  // 0.75 * 4
    }
}
