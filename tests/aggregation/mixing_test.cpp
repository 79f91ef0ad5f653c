#include "aggregation/math/mixing.h"

#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

void mixing_conforms(MemorySpace space) {
    const auto mixed = [&](double alpha, double discount, const Floats& global, const Floats& local) {
        const ParamBuffer next = testing::poisoned(global.size(), space);
        const ParamBuffer newest = testing::upload(local, space);
        const ParamBuffer present = testing::upload(global, space);
        make_server_mix(alpha)->step(next, present, {newest, discount, 1});
        return testing::download(next);
    };
    CHECK(mixed(0.5, 1.0, {8.0F, -4.0F}, {4.0F, 2.0F}) == Floats{6.0F, -1.0F});
    CHECK(mixed(0.5, 0.5, {8.0F, -4.0F}, {4.0F, 4.0F}) == Floats{7.0F, -2.0F});
    // Rate 1 copies: it keeps -0.0, and infinities that 0 * infinity would turn into NaN.
    const Floats zeros(3, -0.0F);
    const Floats infinite(3, std::numeric_limits<float>::infinity());
    CHECK(testing::same_bits(mixed(1.0, 1.0, infinite, zeros), zeros));
    for (const std::size_t size : {1000U, 8193U, 100003U}) {
        const Floats global = testing::random_floats(size, 1);
        const Floats local = testing::random_floats(size, 2);
        Floats expected(size);
        for (std::size_t i = 0; i < size; ++i) expected[i] = (1.0F - 0.15F) * global[i] + 0.15F * local[i];
        CHECK(testing::same_bits(mixed(0.6, 0.25, global, local), expected));
    }
    conformance::server_optimizer_conforms([](std::size_t) { return make_server_mix(0.75); }, space);
    CHECK(make_server_mix(0.5)->moments(16, space).empty());
}

}  // namespace

TEST_SUITE("Mixing") {
    TEST_CASE("MixingOnTheHostConforms") { mixing_conforms(MemorySpace::Host); }

    TEST_CASE("Gpu: MixingConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        mixing_conforms(MemorySpace::Cuda);
    }

    TEST_CASE("SingleUpdateIsTheOneArrivalWithItsDiscount") {
        const auto single = make_single_update();
        CHECK(single->column_rule() == ColumnRule::None);
        CHECK_THROWS_WITH_AS(make_aggregator(single->column_rule()), doctest::Contains("no rule works on ranges"), Fault);
        const Floats values{1.0F, 2.0F};
        const Update arrival{ConstParamSpan(values), 0, 2.5, 10.0, 1};
        single->zero_init(2, MemorySpace::Host);
        single->aggregate(arrival);
        const Aggregate aggregate = single->finish();
        CHECK(aggregate.values.data == values.data());
        CHECK(aggregate.weight == 0.25);
        CHECK(aggregate.clients == 1);
    }

    TEST_CASE("NoneOrTwoOrWeightlessArrivalsAreAFault") {
        const auto single = make_single_update();
        const Floats values{1.0F, 2.0F};
        single->zero_init(2, MemorySpace::Host);
        CHECK_THROWS_WITH_AS(single->finish(), doctest::Contains("nothing to aggregate"), Fault);
        single->aggregate({ConstParamSpan(values), 0});
        single->aggregate({ConstParamSpan(values), 1});
        CHECK_THROWS_WITH_AS(single->finish(), doctest::Contains("2 arrivals to mix in one step"), Fault);
        single->zero_init(2, MemorySpace::Host);
        single->aggregate({ConstParamSpan(values), 0, 0.0, 0.0, 1});
        CHECK_THROWS_WITH_AS(single->finish(), doctest::Contains("weight 0"), Fault);
    }
}
