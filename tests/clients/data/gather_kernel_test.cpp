// Batches gathered by the kernel equal the host's bit by bit.
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "clients/data/batches.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::cuda_driver;

namespace {

struct FreeOnDevice {
    void operator()(void* memory) const { cuda_driver().free(memory); }
};
template <typename T>
using DeviceArray = std::unique_ptr<T, FreeOnDevice>;

template <typename T>
DeviceArray<T> on_device(const std::vector<T>& values) {
    DeviceArray<T> copy(static_cast<T*>(cuda_driver().allocate(values.size() * sizeof(T))));
    cuda_driver().upload(copy.get(), values.data(), values.size() * sizeof(T));
    return copy;
}

/// Copies device memory to the host, through floats whatever T is.
template <typename T>
std::vector<T> on_host(const T* values, std::size_t size) {
    std::vector<T> copy(size);
    aggregation::copy(
        aggregation::ParamSpan(reinterpret_cast<float*>(copy.data()), size * sizeof(T) / sizeof(float)),
        {reinterpret_cast<const float*>(values), size * sizeof(T) / sizeof(float), aggregation::MemorySpace::Cuda});
    aggregation::synchronize(aggregation::MemorySpace::Cuda);
    return copy;
}

/// Gathers batches of `rows` examples, from the start of a list and from a cursor.
void kernel_has_the_bits_of_the_host(ExampleShape shape, const Normalization& normalization, std::size_t rows,
                                     ValueType type = ValueType::U8) {
    constexpr std::size_t kExamples = 40, kCursor = 5, kBehind = 3;
    const std::size_t num_values = shape.num_values();
    Stream stream(5, Purpose::TestData);
    std::vector<std::uint8_t> values(kExamples * num_values * bytes_of(type));
    std::vector<std::int32_t> labels(kExamples);
    std::vector<std::uint32_t> order(rows + kCursor);
    for (std::size_t i = 0; i < kExamples * num_values; ++i) {
        const auto byte = static_cast<std::uint8_t>(stream.below(256));
        const float value = static_cast<float>(byte) / 3.0F;
        const std::int32_t token = byte * 1000;
        if (type == ValueType::U8)
            values[i] = byte;
        else if (type == ValueType::I32)
            std::memcpy(&values[i * sizeof token], &token, sizeof token);
        else
            std::memcpy(&values[i * sizeof value], &value, sizeof value);
    }
    for (auto& label : labels) label = static_cast<std::int32_t>(stream.below(1000));
    for (auto& index : order) index = static_cast<std::uint32_t>(stream.below(kExamples));
    const BatchGather gather(shape, normalization);

    const auto device_values = on_device(values);
    const auto device_labels = on_device(labels);
    const auto device_order = on_device(order);
    const auto cursor = on_device(std::vector<std::int64_t>{kCursor});
    const auto scale = on_device(std::vector<float>(gather.scale(type).begin(), gather.scale(type).end()));
    const auto shift = on_device(std::vector<float>(gather.shift().begin(), gather.shift().end()));
    for (const bool at_cursor : {false, true}) {
        std::vector<float> expected((rows + kBehind) * num_values, -99.0F);
        std::vector<std::int64_t> expected_labels(rows + kBehind, -99);
        const auto got = on_device(expected);  // values after the batch must stay
        const auto got_labels = on_device(expected_labels);
        gather.gather({shape, values, labels, aggregation::MemorySpace::Host, type},
                      std::span(order).subspan(at_cursor ? kCursor : 0, rows), expected.data(),
                      {.labels = expected_labels.data()});
        gather_on_device(
            {device_values.get(), device_labels.get(), device_order.get(), at_cursor ? cursor.get() : nullptr, scale.get(),
             shift.get(), static_cast<std::uint32_t>(num_values), static_cast<std::uint32_t>(shape.height * shape.width), type},
            rows, got.get(), {.labels = got_labels.get()});
        CHECK(aggregation::testing::same_bits(on_host(got.get(), expected.size()), expected));
        CHECK(on_host(got_labels.get(), expected_labels.size()) == expected_labels);
    }
}

/// Five targets per example of two values: more targets than the row has threads.
void kernel_gathers_targets(TargetKind kind) {
    constexpr std::uint32_t kWidth = 5;
    const bool are_numbers = kind == TargetKind::Numbers;
    const std::vector<std::uint32_t> order{2, 0};
    std::vector<float> numbers(3 * kWidth), expected_numbers(2 * kWidth), values(2 * 2);
    std::vector<std::int32_t> labels(3 * kWidth);
    std::vector<std::int64_t> expected_labels(2 * kWidth);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        labels[i] = static_cast<std::int32_t>(i);
        numbers[i] = static_cast<float>(i) / 4.0F;
    }
    for (std::size_t i = 0; i < 2 * kWidth; ++i) {
        const std::size_t from = order[i / kWidth] * kWidth + i % kWidth;
        expected_labels[i] = labels[from];
        expected_numbers[i] = numbers[from];
    }
    const auto device_values = on_device(std::vector<std::uint8_t>(3 * 2));
    const auto device_labels = on_device(labels);
    const auto device_numbers = on_device(numbers);
    const auto device_order = on_device(order);
    const auto scale = on_device(std::vector<float>{1.0F}), shift = on_device(std::vector<float>{0.0F});
    const auto got = on_device(values);
    const auto got_labels = on_device(std::vector<std::int64_t>(2 * kWidth, -99));
    const auto got_numbers = on_device(std::vector<float>(2 * kWidth, -99.0F));
    gather_on_device({device_values.get(), device_labels.get(), device_order.get(), nullptr, scale.get(), shift.get(), 2, 2,
                      ValueType::U8, are_numbers ? device_numbers.get() : nullptr, kWidth},
                     2, got.get(), {got_labels.get(), got_numbers.get()});
    if (are_numbers)
        CHECK(on_host(got_numbers.get(), 2 * kWidth) == expected_numbers);
    else
        CHECK(on_host(got_labels.get(), 2 * kWidth) == expected_labels);
}

}  // namespace

TEST_SUITE("GatherKernel") {
    TEST_CASE("Gpu: GatherKernelTakesTargetsOfAnyKind") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const TargetKind kind : {TargetKind::ClassEach, TargetKind::Numbers}) kernel_gathers_targets(kind);
    }

    TEST_CASE("Gpu: GatherKernelHasTheBitsOfTheHost") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        kernel_has_the_bits_of_the_host({1, 28, 28}, {{0.1307}, {0.3081}}, 33);
        kernel_has_the_bits_of_the_host({3, 5, 7}, {{0.1, 0.2, 0.3}, {0.5, 0.6, 0.7}}, 1);
        kernel_has_the_bits_of_the_host({1, 16, 16}, {}, 10);  // exactly one block per row
        kernel_has_the_bits_of_the_host({1, 1, 1}, {}, 0);
        kernel_has_the_bits_of_the_host({3, 5, 7}, {{0.1, 0.2, 0.3}, {0.5, 0.6, 0.7}}, 33, ValueType::F32);
        kernel_has_the_bits_of_the_host({20, 1, 1}, {}, 7, ValueType::F32);
        kernel_has_the_bits_of_the_host({20, 1, 1, 256}, {}, 7);
        kernel_has_the_bits_of_the_host({20, 1, 1, 256'000}, {}, 7, ValueType::I32);
    }

    TEST_CASE("Gpu: GatherKernelTakesMoreRowsThanAGridHas") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        kernel_has_the_bits_of_the_host({1, 2, 2}, {{0.5}, {0.25}}, 70000);
    }
}
