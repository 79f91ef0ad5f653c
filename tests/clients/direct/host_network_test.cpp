// What the direct engine has on the host alone: batch norm by known values, and frozen parameters.
#include "aggregation/base/error.h"
#include "clients/direct/network.h"
#include "tests/clients/direct/network_case.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

using direct::Floats;
using fedhive::testing::evaluation_of;
using fedhive::testing::listed_model;
using HostCase = fedhive::testing::NetworkCase;

}  // namespace

TEST_SUITE("HostNetwork") {
    /// Rows of two features, normalised; the targets make the gradient of each answer 1 / 8 of itself.
    TEST_CASE("BatchNormNormalisesByTheBatchAndMovesItsStatisticsAsPyTorchsDoes") {
        LayerList layers;
        layers.add("flatten").add("batch_norm");
        direct::Network network(fedhive::testing::listed_regression(layers, {2, 1, 1}, 2));
        const auto& entries = network.layout().entries();
        REQUIRE(entries.size() == 4);
        const std::size_t weight = entries[0].offset, bias = entries[1].offset, mean = entries[2].offset,
                          variance = entries[3].offset;
        Floats parameters(network.layout().num_floats()), gradient(network.layout().num_trainable());
        const auto set = [&](const Floats& values) {
            for (std::size_t i = 0; i < 4; ++i)
                std::copy_n(values.begin() + 2 * static_cast<int>(i), 2, &parameters[entries[i].offset]);
        };
        set({3, 1, 0, 2, 10, 20, 4, 8});  // weights, biases, running means, running variances
        // First feature: mean 2, squares 1 + 1 + 9 + 9 = 20 about it, biased variance 5. Second: always 6.
        const Floats examples{1, 6, 3, 6, -1, 6, 5, 6}, numbers(8, 0.0F);
        const direct::Batch batch{examples.data(), nullptr, 4, numbers.data()};
        const double inverse = 1.0 / std::sqrt(5.0 + 1e-5);
        const double loss = network.train(parameters.data(), gradient.data(), batch, 0, parameters.data());
        CHECK(loss == doctest::Approx((9.0 * 20.0 * inverse * inverse + 4 * 4.0) / 8.0).epsilon(1e-6));
        // dy = y / 4: Σ dy · n = 3 · 20 · inverse² / 4, Σ dy = 0; the second feature's n is 0 and its y 2.
        CHECK(gradient[weight] == doctest::Approx(15.0 * inverse * inverse).epsilon(1e-6));
        CHECK(gradient[weight + 1] == 0.0F);
        CHECK(gradient[bias] == doctest::Approx(0.0).epsilon(1e-6));
        CHECK(gradient[bias + 1] == 4 * 2 / 4.0F);
        CHECK(parameters[weight] == 3);
        CHECK(parameters[bias + 1] == 2);
        CHECK(parameters[mean] == static_cast<float>(0.9 * 10 + 0.1 * 2));
        CHECK(parameters[mean + 1] == static_cast<float>(0.9 * 20 + 0.1 * 6));
        CHECK(parameters[variance] == doctest::Approx(0.9 * 4 + 0.1 * 20 / 3).epsilon(1e-7));  // unbiased
        CHECK(parameters[variance + 1] == static_cast<float>(0.9 * 8));

        // An evaluation, and a batch of one value per channel, use the running statistics and leave them.
        set({3, 1, 0, 2, 1, 4, 4, 16});
        const Floats before = parameters;
        const direct::Batch one{examples.data() + 2, nullptr, 1, numbers.data()};  // (3, 6)
        const double of_first = 3 * (3 - 1) / std::sqrt(4 + 1e-5), of_second = (6 - 4) / std::sqrt(16 + 1e-5) + 2;
        const double wanted = (of_first * of_first + of_second * of_second) / 2;
        CHECK(network.train(parameters.data(), gradient.data(), one, 0, parameters.data()) ==
              doctest::Approx(wanted).epsilon(1e-6));
        CHECK(gradient[weight] == doctest::Approx(of_first * of_first / 3).epsilon(1e-6));
        CHECK(gradient[bias + 1] == doctest::Approx(of_second).epsilon(1e-6));
        CHECK(evaluation_of(network, parameters, one).loss_sum == doctest::Approx(wanted).epsilon(1e-6));
        CHECK(parameters == before);
    }

    TEST_CASE("BatchNormOfHugeEqualValuesIsFinite") {
        LayerList layers;
        layers.add("batch_norm").add("flatten").add("linear");
        direct::Network network(listed_model(layers, {1, 3, 5}, 2));
        Floats parameters(network.layout().num_floats(), 0.5F), gradient(network.layout().num_trainable());
        const Floats examples(7 * 15, 1.2345e7F);
        const std::vector<std::int64_t> labels(7, 1);
        CHECK(std::isfinite(
            network.train(parameters.data(), gradient.data(), {examples.data(), labels.data(), 7}, 0, parameters.data())));
        for (const float value : parameters) CHECK(std::isfinite(value));
        for (const float value : gradient) CHECK(std::isfinite(value));
    }

    TEST_CASE("WhatIsLeftOfAFrozenModelHasTheBitsThatItHasInTheWholeModel") {
        for (const ModelSpec& spec : fedhive::testing::all_networks())
            for (const std::vector<std::string>& patterns :
                 std::vector<std::vector<std::string>>{{"0.*"}, {"*.bias"}, {"*.weight"}, {"*1.*", "*4.*"}}) {
                ModelSpec part = spec;
                part.frozen = NamePatterns::of(patterns);
                const aggregation::Layout layout = model_layout(spec), left = model_layout(part), kept = frozen_layout(part);
                if (kept.entries().empty() || left.num_trainable() == 0) continue;
                CAPTURE(patterns.front());
                HostCase whole(spec);
                const std::vector<float> frozen =
                    aggregation::part_of(layout, {whole.parameters.data(), whole.parameters.size()}, kept);
                std::vector<float> mine =
                    aggregation::part_of(layout, {whole.parameters.data(), whole.parameters.size()}, left);
                direct::Network network(part, direct::kernels(), frozen);
                Floats gradient(left.num_trainable(), 0.0F);  // between tensors it stays 0
                CHECK(network.train(mine.data(), gradient.data(), whole.batch(), HostCase::kKey, mine.data()) == whole.train());
                CHECK(mine == aggregation::part_of(layout, {whole.parameters.data(), whole.parameters.size()},
                                                   left));  // buffers have moved
                for (const auto& entry : left.entries()) {
                    if (entry.kind == aggregation::TensorKind::Buffer) continue;
                    CAPTURE(entry.name);
                    const auto there = std::ranges::find(layout.entries(), entry.name, &aggregation::LayoutEntry::name);
                    CHECK(std::equal(gradient.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                                     gradient.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.size),
                                     whole.gradient.begin() + static_cast<std::ptrdiff_t>(there->offset)));
                }
                // A fused step, and an evaluation.
                const aggregation::SgdOptions sgd{0.1F, 0.0F, 0.01F, false};
                aggregation::ClientOptimizer optimizer(sgd, left.num_trainable(), aggregation::MemorySpace::Host),
                    of_whole(sgd, layout.num_trainable(), aggregation::MemorySpace::Host);
                for (aggregation::ClientOptimizer* each : {&optimizer, &of_whole}) each->begin(), each->begin_step();
                CHECK(evaluation_of(network, {mine.begin(), mine.end()}, whole.batch()).loss_sum ==
                      evaluation_of(whole.network, whole.parameters, whole.batch()).loss_sum);
                network.descend({mine.data(), &optimizer, nullptr}, gradient.data(), whole.batch(), HostCase::kKey);
                whole.network.descend({whole.parameters.data(), &of_whole, nullptr}, whole.gradient.data(), whole.batch(),
                                      HostCase::kKey);
                CHECK(mine == aggregation::part_of(layout, {whole.parameters.data(), whole.parameters.size()}, left));
            }
        CHECK_THROWS_AS(direct::Network(fedhive::testing::networks()[0], direct::kernels(), std::vector<float>(5)), Fault);
    }
}
