#include "aggregation/math/median.h"

#include "aggregation/math/column_ops.h"
#include "tests/aggregation/reference.h"
#include "tests/conformance/aggregator_conformance.h"
#include "tests/support/skip.h"

using namespace fedhive;
using namespace fedhive::aggregation;
using conformance::aggregate_of;
using testing::Floats;

namespace {

/// `count` updates with many ties.
std::vector<Floats> random_updates(std::size_t count, std::size_t num_floats) {
    std::vector<Floats> updates;
    Stream stream(9, Purpose::TestData, static_cast<std::uint32_t>(count));
    for (std::size_t k = 0; k < count; ++k) {
        updates.push_back(testing::random_floats(num_floats, static_cast<std::uint32_t>(k)));
        for (float& value : updates.back())
            if (stream.below(2) == 0) value = static_cast<float>(stream.below(5)) - 2.0F;
    }
    return updates;
}

void equals_sorting(MemorySpace space) {
    for (std::size_t count = 1; count <= 70; ++count) {
        const std::vector<Floats> updates = random_updates(count, count == 3 ? 100003 : count == 40 ? 8193 : 131);
        const Floats expected = reference::median(updates);
        const Floats median = aggregate_of(*make_median(), updates, space);
        CHECK(median == expected);
        if (space == MemorySpace::Cuda)
            CHECK(testing::same_bits(median, aggregate_of(*make_median(), updates, MemorySpace::Host)));
    }
}

/// Uses the smallest kernel with enough registers for the values.
float median_in_registers(const std::vector<const float*>& values, std::size_t column) {
    const std::size_t count = values.size();
    if (count <= 4) return element::median_in_registers<4>(values.data(), count, column);
    if (count <= 8) return element::median_in_registers<8>(values.data(), count, column);
    if (count <= 16) return element::median_in_registers<16>(values.data(), count, column);
    if (count <= 32) return element::median_in_registers<32>(values.data(), count, column);
    if (count <= 64) return element::median_in_registers<64>(values.data(), count, column);
    return 0.0F;
}

}  // namespace

TEST_SUITE("Median") {
    TEST_CASE("MedianOnTheHostConforms") { conformance::aggregator_conforms(make_median, MemorySpace::Host); }
    TEST_CASE("MedianEqualsSortingForAnyCount") { equals_sorting(MemorySpace::Host); }

    TEST_CASE("Gpu: MedianConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        conformance::aggregator_conforms(make_median, MemorySpace::Cuda);
        equals_sorting(MemorySpace::Cuda);
    }

    TEST_CASE("MedianOfEvenCountIsTheMeanOfTheMiddleTwo") {
        const std::vector<Floats> updates{{1.0F, 100.0F}, {4.0F, -8.0F}, {2.0F, 2.0F}, {1000.0F, 4.0F}};
        CHECK(aggregate_of(*make_median(), updates, MemorySpace::Host) == Floats{3.0F, 3.0F});
        const float large = std::numeric_limits<float>::max();
        CHECK(aggregate_of(*make_median(), {{large}, {large}}, MemorySpace::Host) == Floats{large});  // no overflow in between
    }

    TEST_CASE("MedianIsIndependentOfOrderAndWeights") {
        std::vector<Floats> updates = random_updates(11, 77);
        const Floats expected = aggregate_of(*make_median(), updates, MemorySpace::Host);
        Stream stream(10, Purpose::Shuffle);
        shuffle(std::span<Floats>(updates), stream);
        const auto rule = make_median();
        rule->zero_init(77, MemorySpace::Host);
        for (std::size_t k = 0; k < updates.size(); ++k) {
            const double weight = static_cast<double>(k + 1);
            rule->aggregate({ConstParamSpan(updates[k]), 2 * k, weight, weight, 1});
        }
        const Aggregate median = rule->finish();
        CHECK(testing::same_bits(testing::download(median.values), expected));
        CHECK(median.weight == 66.0);
        CHECK(median.clients == 11);
    }

    TEST_CASE("MedianOneOutlierDoesNotMoveIt") {
        const float huge = std::numeric_limits<float>::max();
        CHECK(aggregate_of(*make_median(), {{1.0F}, {huge}, {2.0F}, {-1.0F}, {1.5F}}, MemorySpace::Host) == Floats{1.5F});
    }

    TEST_CASE("MedianOfSlotsWithSeveralClientsIsRefused") {
        const Floats update(16, 1.0F);
        const auto rule = make_median();
        rule->zero_init(16, MemorySpace::Host);
        CHECK_THROWS_AS(rule->aggregate({ConstParamSpan(update), 0, 1.0, 2.0, 2}), Fault);
    }

    TEST_CASE("DeviceTwinsHaveTheBitsOfTheHost") {
        constexpr std::size_t kSize = 65;
        for (std::size_t count = 1; count <= 70; ++count) {
            std::vector<Floats> updates = random_updates(count, kSize);
            for (std::size_t k = 0; k < count; ++k) updates[k][3] = k % 2 == 0 ? 0.0F : -0.0F;
            std::vector<const float*> values;
            for (const Floats& update : updates) values.push_back(update.data());
            const Floats expected = aggregate_of(*make_median(), updates, MemorySpace::Host);
            Floats by_bisection(kSize), in_registers(kSize);
            for (std::size_t i = 0; i < kSize; ++i) {
                by_bisection[i] = element::median_by_bisection(values.data(), count, i);
                in_registers[i] = median_in_registers(values, i);
            }
            CHECK(testing::same_bits(by_bisection, expected));
            if (count <= 64) CHECK(testing::same_bits(in_registers, expected));
        }
    }

    TEST_CASE("OrderKeySortsLikeFloats") {
        const Floats ascending{-std::numeric_limits<float>::infinity(), -2.0F, -1e-45F, -0.0F, 0.0F, 1e-45F, 0.5F, 3.0F,
                               std::numeric_limits<float>::infinity()};
        for (std::size_t i = 0; i + 1 < ascending.size(); ++i)
            CHECK(element::order_key(ascending[i]) < element::order_key(ascending[i + 1]));
        for (const float value : ascending)
            CHECK(element::bits_of(element::float_of_key(element::order_key(value))) == element::bits_of(value));
    }
}
