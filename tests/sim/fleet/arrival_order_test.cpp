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

std::vector<std::size_t> slots_of(const std::vector<ExpectedArrival>& expected) {
    std::vector<std::size_t> slots;
    for (const ExpectedArrival& one : expected) slots.push_back(one.slot);
    return slots;
}

/// All orders tried: the slots that may be first in one that keeps everybody within the bound.
std::set<std::size_t> allowed_by_trial(const std::vector<ExpectedArrival>& expected, std::uint64_t version,
                                       std::uint64_t bound) {
    std::vector<std::size_t> order(expected.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::set<std::size_t> allowed;
    do {
        bool kept = true;
        for (std::size_t i = 0; i < order.size(); ++i) kept = kept && version + i - expected[order[i]].version <= bound;
        if (kept) allowed.insert(expected[order[0]].slot);
    } while (std::next_permutation(order.begin(), order.end()));
    return allowed;
}

}  // namespace

TEST_SUITE("ArrivalOrder") {
    TEST_CASE("FirstByTimeTiesByClient") {
        const std::vector<ExpectedArrival> expected{
            {0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}, {3, 5, 0, 3.0}, {4, 1, 0, 2.0}};
        CHECK(slots_of(first_by_time(expected, 3)) == std::vector<std::size_t>{1, 4, 2});
        CHECK(slots_of(first_by_time(expected, 9)) == std::vector<std::size_t>{1, 4, 2, 0, 3});
        CHECK(first_by_time(expected, 0).empty());
    }

    TEST_CASE("NextRecordedAreThoseOfTheRecordInItsOrder") {
        const std::vector<ExpectedArrival> expected{{0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}};
        CHECK(slots_of(next_recorded(expected, {3, 9, 4}, 0, 2)) == std::vector<std::size_t>{2, 0});
        CHECK(slots_of(next_recorded(expected, {3, 9, 4}, 2, 1)) == std::vector<std::size_t>{1});
        CHECK_THROWS_WITH_AS(next_recorded(expected, {3, 9, 4}, 2, 2), doctest::Contains("have only 3 in this round"), Fault);
        CHECK_THROWS_WITH_AS(next_recorded(expected, {5}, 0, 1), doctest::Contains("client 5, which is not training"), Fault);
    }

    TEST_CASE("AllowedNextAreThoseThatSomeOrderBeginsWith") {
        Stream random(1, Purpose::TestData);
        int narrowed = 0;
        for (int trial = 0; trial < 2000; ++trial) {
            const std::uint64_t version = 10;
            const std::uint64_t bound = random.below(7);
            std::vector<ExpectedArrival> expected(1 + random.below(6));
            for (std::size_t i = 0; i < expected.size(); ++i)
                expected[i] = {i, static_cast<std::uint32_t>(i), version - random.below(bound + 1), 0.0};
            const auto by_trial = allowed_by_trial(expected, version, bound);
            if (by_trial.empty()) continue;  // the bound has been broken already
            const auto slots = slots_of(allowed_next(expected, version, bound));
            CHECK(std::set<std::size_t>(slots.begin(), slots.end()) == by_trial);
            narrowed += by_trial.size() < expected.size() ? 1 : 0;
        }
        CHECK(narrowed > 100);
    }
}
