#include "aggregation/math/deviation.h"

#include "aggregation/math/column_ops.h"
#include "tests/conformance/aggregator_conformance.h"
#include "tests/support/skip.h"

#include <cmath>
#include <vector>

using namespace fedhive;
using namespace fedhive::aggregation;
using conformance::aggregate_of;
using testing::Floats;

namespace {

std::vector<Floats> drawn_updates(std::uint32_t count, std::size_t num_floats) {
    std::vector<Floats> updates;
    for (std::uint32_t k = 0; k < count; ++k) updates.push_back(testing::random_floats(num_floats, k));
    return updates;
}

/// One column after the other, in double, as the formula stands.
Floats reference_of(const std::vector<Floats>& updates) {
    Floats out;
    for (std::size_t i = 0; i < updates.front().size(); ++i) {
        double sum = 0.0, squares = 0.0;
        for (const Floats& update : updates) sum += static_cast<double>(update[i]);
        const double mean = sum / static_cast<double>(updates.size());
        for (const Floats& update : updates)
            squares += (static_cast<double>(update[i]) - mean) * (static_cast<double>(update[i]) - mean);
        out.push_back(static_cast<float>(std::sqrt(squares / static_cast<double>(updates.size()))));
    }
    return out;
}

Floats each_column(const std::vector<Floats>& updates) {
    std::vector<const float*> values;
    values.reserve(updates.size());
    for (const Floats& update : updates) values.push_back(update.data());
    Floats out;
    for (std::size_t i = 0; i < updates.front().size(); ++i)
        out.push_back(element::column_deviation(values.data(), values.size(), i));
    return out;
}

void has_the_bits_of_the_formula(MemorySpace space) {
    CHECK(aggregate_of(*make_deviation(), {{1.0F, -2.0F, 5.0F}, {3.0F, 6.0F, 5.0F}}, space) == Floats{1.0F, 4.0F, 0.0F});
    CHECK(aggregate_of(*make_deviation(), {{7.0F, -2.5F}}, space) == Floats{0.0F, 0.0F});
    for (const std::uint32_t count : {2U, 3U, 9U, 70U})
        for (const std::size_t size : {1U, 511U, 512U, 1300U}) {
            const std::vector<Floats> updates = drawn_updates(count, size);
            CHECK(testing::same_bits(aggregate_of(*make_deviation(), updates, space), reference_of(updates)));
        }
}

}  // namespace

TEST_SUITE("Deviation") {
    TEST_CASE("ItHasTheBitsOfItsFormula") { has_the_bits_of_the_formula(MemorySpace::Host); }

    TEST_CASE("Gpu: ItHasTheBitsOfItsFormula") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        has_the_bits_of_the_formula(MemorySpace::Cuda);
    }

    TEST_CASE("DeviceCodeHasTheHostsBits") {
        for (const std::uint32_t count : {1U, 4U, 9U, 20U}) {
            const std::vector<Floats> updates = drawn_updates(count, 150);
            CHECK(testing::same_bits(each_column(updates), aggregate_of(*make_deviation(), updates, MemorySpace::Host)));
        }
    }

    TEST_CASE("WeightsAndScalesDoNotCount") {
        const std::vector<Floats> updates = drawn_updates(5, 40);
        const auto rule = make_deviation();
        rule->zero_init(40, MemorySpace::Host);
        for (std::size_t k = 0; k < updates.size(); ++k) {
            const double weight = 1.0 + static_cast<double>(k);
            rule->aggregate({updates[k], k, weight, weight, 1});
        }
        CHECK(testing::same_bits(testing::download(rule->finish().values), reference_of(updates)));
    }

    TEST_CASE("RangesGiveTheBitsOfOnePass") {
        conformance::ranges_give_the_bits_of_one_pass(make_deviation, MemorySpace::Host);
        conformance::misuse_is_refused(make_deviation, MemorySpace::Host);
    }
}
