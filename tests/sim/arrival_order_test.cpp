#include "sim/fleet/arrival_order.h"

#include "aggregation/base/error.h"

#include "aggregation/base/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::vector<std::size_t> slots_of(const std::vector<InAir>& in_air) {
    std::vector<std::size_t> slots;
    for (const InAir& one : in_air) slots.push_back(one.slot);
    return slots;
}

/// All orders tried: the slots that may be first in one that keeps everybody within the bound.
std::set<std::size_t> allowed_by_trial(const std::vector<InAir>& in_air, std::uint64_t version, std::uint64_t bound) {
    std::vector<std::size_t> order(in_air.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::set<std::size_t> allowed;
    do {
        bool kept = true;
        for (std::size_t i = 0; i < order.size(); ++i) kept = kept && version + i - in_air[order[i]].version <= bound;
        if (kept) allowed.insert(in_air[order[0]].slot);
    } while (std::next_permutation(order.begin(), order.end()));
    return allowed;
}

}  // namespace

TEST_SUITE("ArrivalOrder") {
    TEST_CASE("FirstByTimeTiesByClient") {
        const std::vector<InAir> in_air{{0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}, {3, 5, 0, 3.0}, {4, 1, 0, 2.0}};
        CHECK(slots_of(first_by_time(in_air, 3)) == std::vector<std::size_t>{1, 4, 2});
        CHECK(slots_of(first_by_time(in_air, 9)) == std::vector<std::size_t>{1, 4, 2, 0, 3});
        CHECK(first_by_time(in_air, 0).empty());
    }

    TEST_CASE("NextRecordedAreThoseOfTheRecordInItsOrder") {
        const std::vector<InAir> in_air{{0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}};
        CHECK(slots_of(next_recorded(in_air, {3, 9, 4}, 0, 2)) == std::vector<std::size_t>{2, 0});
        CHECK(slots_of(next_recorded(in_air, {3, 9, 4}, 2, 1)) == std::vector<std::size_t>{1});
        CHECK_THROWS_WITH_AS(next_recorded(in_air, {3, 9, 4}, 2, 2), doctest::Contains("have 3 in this round, more are wanted"),
                             Fault);
        CHECK_THROWS_WITH_AS(next_recorded(in_air, {5}, 0, 1), doctest::Contains("client 5, which is not on its way"), Fault);
    }

    TEST_CASE("AllowedNextAreThoseThatSomeOrderBeginsWith") {
        Stream random(1, Purpose::TestData);
        int narrowed = 0;
        for (int trial = 0; trial < 2000; ++trial) {
            const std::uint64_t version = 10;
            const std::uint64_t bound = random.below(7);
            std::vector<InAir> in_air(1 + random.below(6));
            for (std::size_t i = 0; i < in_air.size(); ++i)
                in_air[i] = {i, static_cast<std::uint32_t>(i), version - random.below(bound + 1), 0.0};
            const auto expected = allowed_by_trial(in_air, version, bound);
            if (expected.empty()) continue;  // the bound has been broken already
            const auto slots = slots_of(allowed_next(in_air, version, bound));
            CHECK(std::set<std::size_t>(slots.begin(), slots.end()) == expected);
            narrowed += expected.size() < in_air.size() ? 1 : 0;
        }
        CHECK(narrowed > 100);
    }
}
