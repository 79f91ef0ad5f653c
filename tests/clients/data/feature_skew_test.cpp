// Feature skew against its definition: rotated images by hand, noise by its moments.
#include "clients/data/feature_skew.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace fedhive::clients {

namespace {

using Bytes = std::vector<std::uint8_t>;

Examples bytes_part(const ExampleShape& shape, std::size_t examples) {
    Examples part{
        .shape = shape, .values = Bytes(examples * shape.num_values()), .labels = std::vector<std::int32_t>(examples)};
    for (std::size_t i = 0; i < part.values.size(); ++i) part.values[i] = static_cast<std::uint8_t>(1 + i % shape.num_values());
    return part;
}

Examples zeros(std::size_t values, std::size_t examples) {
    return {.shape = {static_cast<std::int64_t>(values), 1, 1},
            .values = Bytes(examples * values * sizeof(float)),
            .labels = std::vector<std::int32_t>(examples),
            .type = ValueType::F32};
}

std::vector<float> floats_of(const Examples& part) {
    std::vector<float> values(part.values.size() / sizeof(float));
    std::memcpy(values.data(), part.values.data(), part.values.size());
    return values;
}

/// Each client holds `each` consecutive examples.
Partition neighbours(std::size_t clients, std::size_t each) {
    Partition partition{std::vector<std::uint32_t>(clients * each), std::vector<std::uint64_t>(clients + 1)};
    std::iota(partition.indices.begin(), partition.indices.end(), 0U);
    for (std::size_t client = 0; client <= clients; ++client) partition.offsets[client] = client * each;
    return partition;
}

Bytes example(const Examples& part, std::size_t index) {
    const auto size = static_cast<std::ptrdiff_t>(part.shape.num_values());
    const auto begin = part.values.begin() + static_cast<std::ptrdiff_t>(index) * size;
    return {begin, begin + size};
}

}  // namespace

TEST_SUITE("FeatureSkew") {
    TEST_CASE("ClientsImagesAreTurnedByQuartersCounterClockwise") {
        Dataset data{bytes_part({1, 3, 3}, 10), bytes_part({1, 3, 3}, 2), 1};
        const Bytes before = data.test.values;
        skew_features(data, neighbours(5, 2), {4, 0.0}, 1);
        const Bytes turned[]{
            {1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 6, 9, 2, 5, 8, 1, 4, 7}, {9, 8, 7, 6, 5, 4, 3, 2, 1}, {7, 4, 1, 8, 5, 2, 9, 6, 3}};
        for (std::size_t index = 0; index < 10; ++index) CHECK(example(data.train, index) == turned[index / 2 % 4]);
        CHECK(data.test.values == before);
        CHECK(data.train.type == ValueType::U8);
    }

    TEST_CASE("HalfTurnsTakeImagesThatAreNotSquareChannelByChannelBytesOrFloats") {
        Dataset data{bytes_part({2, 2, 3}, 2), bytes_part({2, 2, 3}, 1), 1};
        skew_features(data, neighbours(2, 1), {2, 0.0}, 1);
        CHECK(example(data.train, 0) == Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
        CHECK(example(data.train, 1) == Bytes{6, 5, 4, 3, 2, 1, 12, 11, 10, 9, 8, 7});
        Dataset floats{zeros(4, 1), zeros(4, 1), 1};
        floats.train.shape = {1, 2, 2};
        const float values[]{1, 2, 3, 4};
        std::memcpy(floats.train.values.data(), values, sizeof values);
        skew_features(floats, {{0}, {0, 0, 1}}, {4, 0.0}, 1);  // client 1 holds it
        CHECK(floats_of(floats.train) == std::vector<float>{2, 4, 1, 3});
    }

    TEST_CASE("NoiseGrowsFromClientToClientAsItsVarianceSays") {
        constexpr std::size_t kClients = 4, kEach = 50, kValues = 400;
        Dataset data{zeros(kValues, kClients * kEach), zeros(kValues, 3), 1};
        const Bytes before = data.test.values;
        skew_features(data, neighbours(kClients, kEach), {1, 0.1}, 7);
        const std::vector<float> values = floats_of(data.train);
        for (std::size_t client = 0; client < kClients; ++client) {
            double sum = 0.0, squares = 0.0;
            for (std::size_t i = client * kEach * kValues; i < (client + 1) * kEach * kValues; ++i) {
                const auto value = static_cast<double>(values[i]);
                sum += value;
                squares += value * value;
            }
            constexpr double kCount = kEach * kValues;
            const double variance = 0.1 * static_cast<double>(client + 1) / kClients;
            CHECK(squares / kCount / variance == doctest::Approx(1.0).epsilon(0.02));
            CHECK(std::abs(sum / kCount) < 0.01);
        }
        CHECK(data.test.values == before);
    }

    TEST_CASE("AnExamplesNoiseFollowsSeedAndExampleWhoeverHoldsIt") {
        const auto noisy = [](const Partition& partition, std::uint64_t seed) {
            Dataset data{zeros(5, 2), zeros(5, 1), 1};
            skew_features(data, partition, {1, 1.0}, seed);
            return floats_of(data.train);
        };
        const std::vector<float> one = noisy({{0, 1}, {0, 1, 2}}, 1), swapped = noisy({{1, 0}, {0, 1, 2}}, 1);
        for (std::size_t i = 0; i < 5; ++i) CHECK(swapped[i] == doctest::Approx(one[i] * std::sqrt(2.0)));
        CHECK(one == noisy({{0, 1}, {0, 1, 2}}, 1));
        CHECK(one != noisy({{0, 1}, {0, 1, 2}}, 2));
        CHECK(std::vector(one.begin(), one.begin() + 5) != std::vector(one.begin() + 5, one.end()));
    }

    TEST_CASE("BytesWithNoiseAreFloatsAndNothingIsCutOff") {
        Dataset data{bytes_part({1, 20, 20}, 4), bytes_part({1, 20, 20}, 1), 1};
        skew_features(data, neighbours(2, 1), {1, 1.0}, 1);  // nobody holds examples 2 and 3
        CHECK(data.train.type == ValueType::F32);
        CHECK(data.test.type == ValueType::F32);
        const std::vector<float> train = floats_of(data.train), test = floats_of(data.test);
        for (std::size_t i = 0; i < 255; ++i) CHECK(test[i] == static_cast<float>(i + 1) / 255.0F);
        CHECK(std::equal(test.begin(), test.end(), train.begin() + 2 * 400));
        CHECK(std::ranges::min(train) < 0.0F);
        CHECK(std::ranges::max(train) > 1.0F);
    }

    TEST_CASE("WhatHasNoSuchSkewIsRefused") {
        const auto refused = [](const ExampleShape& shape, const FeatureSkew& skew, const std::string& problem) {
            Dataset data{bytes_part(shape, 2), bytes_part(shape, 1), 1};
            CHECK_THROWS_WITH_AS(skew_features(data, neighbours(2, 1), skew, 1), doctest::Contains(problem.c_str()),
                                 ConfigError);
        };
        refused({1, 2, 3}, {4, 0.0}, "2 x 3 pixels; allowed: none, half_turns");
        refused({6, 1, 1}, {2, 0.0}, "rotation: examples are features in a row");
        refused({6, 1, 1, 300}, {1, 0.1}, "examples are tokens");
    }
}

}  // namespace fedhive::clients
