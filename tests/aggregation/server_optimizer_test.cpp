// The server optimisers, whose formulas are in aggregation/server.
#include "tests/aggregation/reference.h"
#include "tests/aggregation/server_steps.h"
#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

const Values kMomentum{{"server_lr", 0.7}, {"server_momentum", 0.9}};
constexpr reference::AdaptiveServer kAdaptive{.lr = 0.05, .beta1 = 0.9, .beta2 = 0.99, .tau = 0.001};

/// The keys of the optimiser of that name.
Values adaptive(const std::string& name, const reference::AdaptiveServer& options) {
    Values values{{"server_lr", options.lr}, {"beta1", options.beta1}, {"tau", options.tau}};
    if (name != "adagrad") values.set("beta2", options.beta2);
    return values;
}

void references_are_followed(MemorySpace space, std::size_t size) {
    const auto made = [&](const std::string& name, const Values& values) {
        return testing::server_optimizer(name, values, testing::scene_of(size));
    };
    Floats velocity(size, 0.0F);
    follows(*made("momentum", kMomentum), space, size, [&](const Floats& global, const Floats& aggregate) {
        return reference::server_momentum(global, aggregate, velocity, 0.7F, 0.9F);
    });

    follows(*made("sgd", {}), space, size, [](Floats global, const Floats& aggregate) {
        for (std::size_t i = 0; i < global.size(); ++i) global[i] += aggregate[i];
        return global;
    });

    for (const char* name : {"adam", "yogi", "adagrad"}) {
        CAPTURE(name);
        Floats m(size, 0.0F);
        Floats v(size, static_cast<float>(kAdaptive.tau * kAdaptive.tau));
        follows(*made(name, adaptive(name, kAdaptive)), space, size, [&](const Floats& global, const Floats& aggregate) {
            return reference::server_adaptive(name, global, aggregate, m, v, kAdaptive);
        });
    }
}

void server_optimizers_conform(MemorySpace space) {
    for (const std::size_t size : {kSize, std::size_t{8193}, std::size_t{100003}}) references_are_followed(space, size);

    conformance::server_optimizer_conforms(
        [](std::size_t size) {
            return testing::server_optimizer("sgd", {{"server_lr", 0.7}}, testing::scene_of(size));
        },
        space);
    for (const ServerOptimizerSpec& spec : server_optimizer_catalog()) {
        CAPTURE(spec.name);
        conformance::server_optimizer_conforms(
            [&](std::size_t size) { return testing::server_optimizer(spec.name, {}, testing::scene_of(size)); }, space);
    }
}

/// The next model of one parameter by `optimizer`.
float next_of(ServerOptimizer& optimizer, float global, float aggregate) {
    Floats next(1);
    const Floats from{global}, direction{aggregate};
    optimizer.step(ParamSpan(next), ConstParamSpan(from), {ConstParamSpan(direction)});
    return next[0];
}

std::unique_ptr<ServerOptimizer> of_one(const std::string& name, const Values& values) {
    return testing::server_optimizer(name, values, testing::scene_of(1));
}

}  // namespace

TEST_SUITE("ServerOptimizer") {
    TEST_CASE("ServerOptimizersOnTheHostConform") { server_optimizers_conform(MemorySpace::Host); }

    TEST_CASE("Gpu: ServerOptimizersConform") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        server_optimizers_conform(MemorySpace::Cuda);
    }

    TEST_CASE("BuffersTakeTheMeanWhateverTheOptimiserMakesOfParameters") {
        formulas::ServerScene scene = testing::scene_of(16);
        scene.layout.add("running_mean", {2}, TensorKind::Buffer);
        Floats global(32, 8.0F), aggregate(32, 4.0F), expected(32), next(32);
        aggregate[16] = -0.5F;
        for (const auto& [name, values] : {std::pair<std::string, Values>{"momentum", {}}, {"adam", {}}}) {
            const auto alone = testing::server_optimizer(name, values, testing::scene_of(32));
            const auto with_buffers = testing::server_optimizer(name, values, scene);
            CHECK(with_buffers->moments(32, MemorySpace::Host).size() == alone->moments(32, MemorySpace::Host).size());
            for (int step = 0; step < 2; ++step) {
                alone->step(ParamSpan(expected), ConstParamSpan(global), {ConstParamSpan(aggregate)});
                with_buffers->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
                CHECK(std::equal(next.begin(), next.begin() + 16, expected.begin()));
                CHECK(next[16] == 7.5F);
                CHECK(next[17] == 12.0F);
            }
            CHECK(expected[16] != 7.5F);
        }
    }

    TEST_CASE("WhatNoFormulaWritesStays") {
        const auto sgd = testing::plain_server(3);  // of a region of 16
        Floats global(16, 8.0F), next(16, 1.0F);
        const Floats aggregate(16, 4.0F);
        sgd->step(ParamSpan(next), ConstParamSpan(global), {ConstParamSpan(aggregate)});
        CHECK(next[2] == 12.0F);
        CHECK(std::count(next.begin(), next.end(), 8.0F) == 13);
    }

    TEST_CASE("ServerSgdSmallNumbersAreExact") {
        const auto optimizer = of_one("momentum", {{"server_lr", 0.5}, {"server_momentum", 0.5}});
        CHECK(next_of(*optimizer, 8.0F, 4.0F) == 10.0F);
        CHECK(next_of(*optimizer, 8.0F, 4.0F) == 11.0F);  // v = 0.5 * 4 + 4
    }

    TEST_CASE("MomentsBeforeTheFirstStepAreThoseOfThePaper") {
        const auto moments_of = [](const std::string& name, const Values& values) {
            const auto optimizer = testing::server_optimizer(name, values, testing::scene_of(kSize));
            std::vector<std::pair<std::string, Floats>> moments;
            for (const Moment& moment : optimizer->moments(kSize, MemorySpace::Host))
                moments.emplace_back(moment.name, testing::download(moment.values));
            return moments;
        };
        CHECK(moments_of("sgd", {{"server_lr", 0.5}}).empty());
        CHECK(moments_of("dp_ftrl", {}).empty());  // without momentum
        const Floats zeros(kSize, 0.0F);
        CHECK(moments_of("momentum", {}) == std::vector<std::pair<std::string, Floats>>{{"velocity", zeros}});
        CHECK(moments_of("adam", {{"tau", 0.5}}) ==
              std::vector<std::pair<std::string, Floats>>{{"m", zeros}, {"v", Floats(kSize, 0.25F)}});  // tau^2
    }

    TEST_CASE("ServerAdamFirstStepIsAsInThePaper") {
        const auto optimizer = of_one("adam", adaptive("adam", {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .tau = 1.0}));
        // m = 2, v = 0.75 * 1 + 0.25 * 16
        CHECK(next_of(*optimizer, 1.0F, 4.0F) == 1.0F + 0.5F * 2.0F / (std::sqrt(4.75F) + 1.0F));
    }

    TEST_CASE("SecondMomentsAreThoseOfThePaper") {
        const auto second_after = [](const std::string& name, float aggregate) {
            const auto optimizer = of_one(name, adaptive(name, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .tau = 2.0}));
            next_of(*optimizer, 1.0F, aggregate);
            return testing::download(optimizer->moments(1, MemorySpace::Host)[1].values)[0];
        };
        // v begins at 4.
        CHECK(second_after("adagrad", 4.0F) == 20.0F);
        CHECK(second_after("adam", 4.0F) == 7.0F);
        CHECK(second_after("yogi", 4.0F) == 8.0F);   // 4 + 16 / 4: the square is larger
        CHECK(second_after("yogi", 1.0F) == 3.75F);  // 4 - 1 / 4: it is smaller
        CHECK(second_after("yogi", 2.0F) == 4.0F);   // neither
    }

    TEST_CASE("CatalogBuildsEveryServer") {
        CHECK(names_of(server_optimizer_catalog()) ==
              std::vector<std::string>{"sgd", "momentum", "adam", "yogi", "adagrad", "dp_ftrl"});
        for (const ServerOptimizerSpec& spec : server_optimizer_catalog()) {
            CAPTURE(spec.name);
            CHECK_FALSE(spec.summary.empty());
            CHECK(of_one(spec.name, {}) != nullptr);
        }
    }

    TEST_CASE("ALocalRuleSetsTheDirectionAndItsOwnMemory") {
        using formulas::Place;
        const formulas::MethodFormulas rule{
            .memories = {{.name = "h", .owner = MemoryOwner::Server}},
            .lines = {{Place::Server, {"let h_next = h + u", "let direction = h_next / 2", "h = h_next"}}}};
        const ServerOptimizerSpec& sgd = server_optimizer_spec("sgd");
        const auto optimizer =
            testing::server_by(server_formulas(rule, sgd, completed({{"server_lr", 0.5}}, sgd.keys)), testing::scene_of(1));
        CHECK(next_of(*optimizer, 1.0F, 8.0F) == 3.0F);  // 1 + 0.5 * 8 / 2
        CHECK(next_of(*optimizer, 1.0F, 8.0F) == 5.0F);  // 1 + 0.5 * 16 / 2
        CHECK(optimizer->moments(1, MemorySpace::Host)[0].values.data[0] == 16.0F);
    }

    TEST_CASE("ServerAdamWithoutAnUpdateStandsStill") {
        const auto optimizer = of_one("adam", adaptive("adam", {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .tau = 2.0}));
        CHECK(next_of(*optimizer, 1.0F, 0.0F) == 1.0F);
        CHECK(optimizer->moments(1, MemorySpace::Host)[1].values.data[0] == 3.0F);  // 0.75 * 4
    }
}
