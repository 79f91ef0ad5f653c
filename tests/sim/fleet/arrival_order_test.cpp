#include "sim/fleet/arrival_order.h"

#include "aggregation/base/error.h"

#include "aggregation/base/random.h"

#include "tests/support/golden_messages.h"

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

const Expected kFive{{0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}, {3, 5, 0, 3.0}, {4, 1, 0, 2.0}};

void nobody_waits(Expected&, std::size_t) { FAIL("the order waits for what it knows"); }

FleetOptions& simulated() {
    static FleetOptions options;
    options.round_trip_s = [](std::uint32_t client, std::uint64_t examples, const Traffic& traffic) {
        return static_cast<double>(client + examples + traffic.down + traffic.up);
    };
    return options;
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
    TEST_CASE("SimulatedTimeSaysWhoIsFirstAndTiesGoByClient") {
        const auto order = make_arrival_order(simulated());
        CHECK(order->is_known());
        CHECK(slots_of(order->first(kFive, 3, {}, nobody_waits)) == std::vector<std::size_t>{1, 4, 2});
        CHECK(slots_of(order->first(kFive, 9, {}, nobody_waits)) == std::vector<std::size_t>{1, 4, 2, 0, 3});
        CHECK(order->first(kFive, 0, {}, nobody_waits).empty());
        CHECK(slots_of(order->contenders(kFive, 2, {})) == std::vector<std::size_t>{1, 4});
        CHECK(order->trip_s(3, 10, {.down = 1, .up = 2}) == 16.0);
        double now_s = 2.5;
        order->advance(now_s, kFive[1]);
        CHECK(now_s == 2.5);  // never back
        order->advance(now_s, kFive[3]);
        CHECK(now_s == 3.0);
    }

    TEST_CASE("WhoIsKnownToArriveIsWaitedForAtTheEnd") {
        const auto order = make_arrival_order(simulated());
        Expected arrivals = order->first(kFive, 2, {}, nobody_waits);
        std::size_t waited = 0;
        order->complete(arrivals, [&](Expected& flights, std::size_t quorum) {
            CHECK(slots_of(flights) == std::vector<std::size_t>{1, 4});
            waited = quorum;
        });
        CHECK(waited == 2);
    }

    TEST_CASE("RecordedOrderGoesByRoundAndByArrivalsInIt") {
        FleetOptions options;
        options.recorded_arrivals = {{4, 9}, {3, 9, 4}};
        const auto order = make_arrival_order(options);
        CHECK(order->is_known());
        CHECK(slots_of(order->first(kFive, 1, {.round = 0}, nobody_waits)) == std::vector<std::size_t>{1});
        CHECK(slots_of(order->first(kFive, 2, {.round = 1, .arrived = 1}, nobody_waits)) == std::vector<std::size_t>{0, 1});
        CHECK_THROWS_AS(order->first(kFive, 1, {.round = 2}, nobody_waits), Fault);
        CHECK_FALSE(order->trip_s(3, 10, {}).has_value());
        double now_s = 0.0;
        order->advance(now_s, kFive[3]);
        CHECK(now_s == 0.0);
    }

    TEST_CASE("OnTheWallClockWhoHasFinishedFirstIsFirstAndTheWaitSaysSo") {
        const FleetOptions wall;
        const auto order = make_arrival_order(wall);
        CHECK_FALSE(order->is_known());
        CHECK(order->contenders(kFive, 2, {}).size() == 5);
        const auto wait = [](Expected& flights, std::size_t quorum) {
            CHECK(quorum == 2);
            flights[3].finished_ns = 50;
            flights[0].finished_ns = 70;
            flights[2].finished_ns = 50;
        };
        CHECK(slots_of(order->first(kFive, 2, {}, wait)) == std::vector<std::size_t>{2, 3});
        Expected arrivals = kFive;
        order->complete(arrivals, nobody_waits);  // it has waited already
        CHECK_FALSE(order->trip_s(3, 10, {}).has_value());
    }

    TEST_CASE("NextRecordedAreThoseOfTheRecordInItsOrder") {
        const std::vector<ExpectedArrival> expected{{0, 9, 0, 2.0}, {1, 4, 0, 1.0}, {2, 3, 0, 2.0}};
        CHECK(slots_of(next_recorded(expected, {3, 9, 4}, 0, 2)) == std::vector<std::size_t>{2, 0});
        CHECK(slots_of(next_recorded(expected, {3, 9, 4}, 2, 1)) == std::vector<std::size_t>{1});
        CHECK_THROWN_MESSAGE("fleet", "only 3", Fault, next_recorded(expected, {3, 9, 4}, 2, 2));
        CHECK_THROWN_MESSAGE("fleet", "client 5", Fault, next_recorded(expected, {5}, 0, 1));
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
            if (by_trial.empty()) continue;  // the bound was exceeded already
            const auto slots = slots_of(allowed_next(expected, version, bound));
            CHECK(std::set<std::size_t>(slots.begin(), slots.end()) == by_trial);
            narrowed += by_trial.size() < expected.size() ? 1 : 0;
        }
        CHECK(narrowed > 100);
    }
}
