#include "clients/data/batches.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <cstring>

namespace fedhive::clients {

namespace {

Examples random_examples(ExampleShape shape, std::size_t size, ValueType type = ValueType::U8) {
    const std::size_t count = size * shape.num_values();
    Examples examples{shape, std::vector<std::uint8_t>(count * bytes_of(type)), std::vector<std::int32_t>(size), type};
    Stream stream(5, Purpose::TrainData);
    for (std::size_t i = 0; i < count; ++i) {
        const auto byte = static_cast<std::uint8_t>(stream.below(256));
        const auto value = static_cast<float>(stream.normal());
        const std::int32_t integer = byte * 1000;
        if (type == ValueType::U8)
            examples.values[i] = byte;
        else if (type == ValueType::I32)
            std::memcpy(&examples.values[i * sizeof integer], &integer, sizeof integer);
        else
            std::memcpy(&examples.values[i * sizeof value], &value, sizeof value);
    }
    for (auto& label : examples.labels) label = static_cast<std::int32_t>(stream.below(10));
    return examples;
}

/// Value `at` of the part as a float.
float value_of(const Examples& examples, std::size_t at) {
    if (examples.type == ValueType::U8) return examples.values[at];
    if (examples.type == ValueType::I32) {
        std::int32_t integer = 0;
        std::memcpy(&integer, &examples.values[at * sizeof integer], sizeof integer);
        return static_cast<float>(integer);
    }
    float value = 0.0F;
    std::memcpy(&value, &examples.values[at * sizeof value], sizeof value);
    return value;
}

ExamplesView view_of(const Examples& examples) {
    return {examples.shape, examples.values, examples.labels, aggregation::MemorySpace::Host, examples.type};
}

void check_against_reference(ExampleShape shape, const std::vector<double>& mean, const std::vector<double>& std,
                             ValueType type = ValueType::U8) {
    const Examples examples = random_examples(shape, 9, type);
    const double unit = type == ValueType::U8 ? 255.0 : 1.0;
    const std::vector<std::uint32_t> indices{8, 0, 3, 3, 7};
    std::vector<float> values(indices.size() * shape.num_values() + 1, -99.0F);
    std::vector<std::int64_t> labels(indices.size());
    BatchGather(shape, {mean, std}).gather(view_of(examples), indices, values.data(), {.labels = labels.data()});

    std::size_t wrong = 0;
    for (std::size_t i = 0; i < indices.size() * shape.num_values(); ++i) {
        const std::size_t example = i / shape.num_values(), inside = i % shape.num_values();
        const std::size_t channel = inside / static_cast<std::size_t>(shape.height * shape.width);
        const double m = mean.empty() ? 0.0 : mean[channel % mean.size()], s = std.empty() ? 1.0 : std[channel % std.size()];
        const float value = value_of(examples, indices[example] * shape.num_values() + inside);
        wrong += values[i] != value * static_cast<float>(1.0 / (unit * s)) + static_cast<float>(-m / s);
        wrong += std::abs(static_cast<double>(values[i]) - (static_cast<double>(value) / unit - m) / s) > 1e-6 / s;
    }
    CHECK(wrong == 0);
    CHECK(values.back() == -99.0F);
    for (std::size_t i = 0; i < indices.size(); ++i) CHECK(labels[i] == examples.labels[indices[i]]);
}

/// Runs the kernel's per-thread function on the host for every value: same bits as BatchGather, from the start of the order and
/// from `cursor`.
void check_device_twin(ExampleShape shape, const std::vector<double>& mean, const std::vector<double>& std,
                       ValueType type = ValueType::U8) {
    const Examples examples = random_examples(shape, 9, type);
    const std::vector<std::uint32_t> order{8, 0, 3, 3, 7, 1};
    const BatchGather gather(shape, {mean, std});
    const std::int64_t cursor = 2;
    for (const std::int64_t* from : {static_cast<const std::int64_t*>(nullptr), &cursor}) {
        const std::size_t rows = 4;
        const std::span<const std::uint32_t> batch = std::span(order).subspan(from == nullptr ? 0 : 2, rows);
        std::vector<float> expected(rows * shape.num_values()), values(expected.size());
        std::vector<std::int64_t> expected_labels(rows), labels(rows);
        gather.gather(view_of(examples), batch, expected.data(), {.labels = expected_labels.data()});
        const element::GatherTerms terms{examples.values.data(),
                                         examples.labels.data(),
                                         order.data(),
                                         from,
                                         gather.scale(type).data(),
                                         gather.shift().data(),
                                         static_cast<std::uint32_t>(shape.num_values()),
                                         static_cast<std::uint32_t>(shape.height * shape.width),
                                         type};
        for (std::size_t row = 0; row < rows; ++row)
            for (std::uint32_t at = 0; at < terms.num_values; ++at)
                element::gather(terms, row, at, values.data(), {labels.data(), nullptr});
        CHECK(std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)) == 0);
        CHECK(labels == expected_labels);
    }
}

}  // namespace

TEST_SUITE("BatchGather") {
    TEST_CASE("GreyImagesMatchTheReference") {
        check_against_reference({1, 28, 28}, {}, {});
        check_against_reference({1, 28, 28}, {0.1307}, {0.3081});
        check_against_reference({1, 5, 7}, {0.5}, {});
        check_against_reference({1, 9, 13}, {0.5}, {});  // a line of the cache, three vectors and five bytes
    }

    TEST_CASE("ColourImagesMatchTheReference") {
        check_against_reference({3, 32, 32}, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616});
        check_against_reference({3, 3, 5}, {0.5}, {0.25, 0.5, 1.0});
        check_against_reference({3, 3, 5}, {}, {0.5});
    }

    TEST_CASE("VectorsUseOneValuePerFeature") { check_against_reference({4, 1, 1}, {0.1, 0.2, 0.3, 0.4}, {1, 2, 3, 4}); }

    TEST_CASE("FloatsMatchTheReference") {
        check_against_reference({20, 1, 1}, {}, {}, ValueType::F32);
        check_against_reference({20, 1, 1}, {0.5}, {2.0}, ValueType::F32);
        check_against_reference({4, 1, 1}, {0.1, 0.2, 0.3, 0.4}, {1, 2, 3, 4}, ValueType::F32);
        check_against_reference({3, 5, 7}, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}, ValueType::F32);
    }

    TEST_CASE("FloatsThatAreNotNormalizedComeAsTheyAre") {
        const Examples examples = random_examples({2, 3, 3}, 4, ValueType::F32);
        const std::vector<std::uint32_t> indices{0, 1, 2, 3};
        std::vector<float> values(4 * 18);
        std::vector<std::int64_t> labels(4);
        BatchGather({2, 3, 3}, {}).gather(view_of(examples), indices, values.data(), {.labels = labels.data()});
        CHECK(std::memcmp(values.data(), examples.values.data(), examples.values.size()) == 0);
    }

    TEST_CASE("TokensComeAsTheyAreAndTakeNoNormalization") {
        const ExampleShape shape{20, 1, 1, 256'000};
        for (const ValueType type : {ValueType::U8, ValueType::I32}) {
            const Examples examples = random_examples(shape, 9, type);
            const std::vector<std::uint32_t> indices{8, 0, 3};
            std::vector<float> values(60);
            std::vector<std::int64_t> labels(3);
            BatchGather(shape, {}).gather(view_of(examples), indices, values.data(), {.labels = labels.data()});
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < values.size(); ++i)
                wrong += values[i] != value_of(examples, indices[i / 20] * 20 + i % 20);
            CHECK(wrong == 0);
        }
        CHECK_THROWN_MESSAGE("data", "", ConfigError, BatchGather(shape, {{0.0}, {1.0}}));
        CHECK_THROWS_WITH_AS(BatchGather(shape, {{}, {1.0}}), doctest::Contains("std is given"), ConfigError);
    }

    TEST_CASE("DeviceTwinHasTheBitsOfTheHost") {
        check_device_twin({20, 1, 1, 256}, {}, {});
        check_device_twin({20, 1, 1, 256'000}, {}, {}, ValueType::I32);
        check_device_twin({3, 5, 7}, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}, ValueType::F32);
        check_device_twin({4, 1, 1}, {}, {}, ValueType::F32);
        check_device_twin({1, 28, 28}, {0.1307}, {0.3081});
        check_device_twin({3, 5, 7}, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616});
        check_device_twin({4, 1, 1}, {0.1, 0.2, 0.3, 0.4}, {1, 2, 3, 4});
    }

    TEST_CASE("ExamplesOnADeviceAreRefusedOnTheHost") {
        const Examples examples = random_examples({1, 2, 2}, 3);
        ExamplesView view = view_of(examples);
        view.space = aggregation::MemorySpace::Cuda;
        float values[4];
        std::int64_t label = 0;
        const std::uint32_t index = 0;
        CHECK_THROWS_WITH_AS(BatchGather({1, 2, 2}, {}).gather(view, {&index, 1}, values, {.labels = &label}),
                             doctest::Contains("on a device"), Fault);
    }

    /// Prefetching does not check indices: an invalid one is refused only when it is gathered.
    TEST_CASE("WhatComesNextChangesNothing") {
        const ExampleShape shape{1, 28, 28};
        const Examples examples = random_examples(shape, 40);
        const std::vector<std::uint32_t> order{30, 2, 2, 39, 0, 17, 5, 38, 11, 4, 29, 1000};
        const BatchGather gather(shape, {});
        gather.expect(view_of(examples), order);
        for (const std::size_t size : {1U, 4U, 11U}) {
            const auto batch = std::span(order).first(size), next = std::span(order).subspan(size);
            std::vector<float> alone(size * shape.num_values()), told(alone);
            std::vector<std::int64_t> labels(size), told_labels(size);
            gather.gather(view_of(examples), batch, alone.data(), {.labels = labels.data()});
            gather.gather(view_of(examples), batch, told.data(), {.labels = told_labels.data()}, {}, next);
            CHECK(told == alone);
            CHECK(told_labels == labels);
        }
    }

    TEST_CASE("NoIndicesWriteNothing") {
        const Examples examples = random_examples({1, 2, 2}, 3);
        float value = 7.0F;
        std::int64_t label = 7;
        BatchGather({1, 2, 2}, {}).gather(view_of(examples), {}, &value, {.labels = &label});
        CHECK(value == 7.0F);
        CHECK(label == 7);
    }

    TEST_CASE("WrongListLengthsAreConfigErrors") {
        CHECK_THROWS_WITH_AS(BatchGather({3, 2, 2}, {{0.1, 0.2}, {}}), doctest::Contains("mean has 2 values"), ConfigError);
        CHECK_THROWS_WITH_AS(BatchGather({1, 2, 2}, {{}, {1.0, 1.0, 1.0}}), doctest::Contains("std has 3 values"), ConfigError);
    }

    TEST_CASE("ImpossibleNumbersAreConfigErrors") {
        const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
        for (const double std : {0.0, -1.0, infinity, nan})
            CHECK_THROWS_WITH_AS(BatchGather({1, 2, 2}, {{}, {std}}), doctest::Contains("is not above 0 and finite"),
                                 ConfigError);
        for (const double mean : {infinity, nan})
            CHECK_THROWS_WITH_AS(BatchGather({1, 2, 2}, {{mean}, {}}), doctest::Contains("is not a finite number"),
                                 ConfigError);
    }

    TEST_CASE("IndexOutsideTheExamplesIsAFault") {
        const Examples examples = random_examples({1, 2, 2}, 3);
        std::vector<float> values(4);
        std::vector<std::int64_t> labels(1);
        const std::vector<std::uint32_t> indices{3};
        CHECK_THROWS_WITH_AS(
            BatchGather({1, 2, 2}, {}).gather(view_of(examples), indices, values.data(), {.labels = labels.data()}),
            doctest::Contains("example 3 of 3"), Fault);
    }

    TEST_CASE("ExamplesOfAnotherShapeAreAFault") {
        const Examples examples = random_examples({1, 2, 3}, 3);
        CHECK_THROWS_AS(BatchGather({1, 3, 2}, {}).gather(view_of(examples), {}, nullptr, {}), Fault);
    }
}

}  // namespace fedhive::clients
