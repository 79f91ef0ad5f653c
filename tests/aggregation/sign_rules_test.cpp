#include "aggregation/math/sign_rules.h"

#include "aggregation/math/mean.h"
#include "tests/conformance/aggregator_conformance.h"
#include "tests/support/skip.h"

using namespace fedhive;
using namespace fedhive::aggregation;
using conformance::aggregate_of;
using testing::Floats;

namespace {

const std::vector<Floats> kUpdates{{1.0F, -2.0F, 0.0F, 3.0F}, {2.0F, -1.0F, 0.5F, -3.0F}, {-4.0F, -1.0F, -0.5F, 3.0F}};

void counts_signs(MemorySpace space) {
    CHECK(aggregate_of(*make_sign_majority(), kUpdates, space) == Floats{1.0F, -1.0F, 0.0F, 1.0F});
    const Floats mean = aggregate_of(*make_mean(), kUpdates, space);
    CHECK(aggregate_of(*make_robust_rate(2.0), kUpdates, space) == Floats{-mean[0], mean[1], -mean[2], -mean[3]});
    CHECK(testing::same_bits(aggregate_of(*make_robust_rate(0.0), kUpdates, space), mean));
    std::vector<Floats> many;
    for (std::uint32_t k = 0; k < 9; ++k) many.push_back(testing::random_floats(5000, k));
    CHECK(testing::same_bits(aggregate_of(*make_robust_rate(0.0), many, space), aggregate_of(*make_mean(), many, space)));
}

}  // namespace

TEST_SUITE("SignRules") {
    TEST_CASE("SignsAreCounted") { counts_signs(MemorySpace::Host); }

    TEST_CASE("Gpu: SignsAreCounted") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        counts_signs(MemorySpace::Cuda);
    }

    TEST_CASE("RangesGiveTheBitsOfOnePass") {
        conformance::ranges_give_the_bits_of_one_pass(make_sign_majority, MemorySpace::Host);
        conformance::ranges_give_the_bits_of_one_pass([] { return make_robust_rate(3.0); }, MemorySpace::Host);
        conformance::misuse_is_refused(make_sign_majority, MemorySpace::Host);
        conformance::misuse_is_refused([] { return make_robust_rate(3.0); }, MemorySpace::Host);
    }
}
