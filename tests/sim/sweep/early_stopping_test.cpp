#include "sim/sweep/early_stopping.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

using Reasons = std::vector<std::string>;

const EarlyStoppingConfig kHalving{StoppingRule::Halving, 3, 3};
const EarlyStoppingConfig kMedian{StoppingRule::Median, 2, 2};

Reasons stopped(const EarlyStoppingConfig& config, std::int64_t rung, const std::vector<Qualities>& runs,
                const char* task = "classification") {
    return stopped_at(config, rung, runs, fedhive::clients::learning_task(task).main_metric());
}

}  // namespace

TEST_SUITE("EarlyStopping") {
    TEST_CASE("RungsGrowByTheFactorUpToTheLastRound") {
        CHECK(next_rung(kHalving, 0, 100) == 3);
        CHECK(next_rung(kHalving, 3, 100) == 9);
        CHECK(next_rung(kHalving, 9, 100) == 27);
        CHECK(next_rung(kHalving, 10, 100) == 27);  // the run was decided at a rung of an earlier rule
        CHECK(next_rung(kHalving, 27, 100) == 81);
        CHECK_FALSE(next_rung(kHalving, 81, 100));
        CHECK_FALSE(next_rung(kHalving, 3, 9));
        CHECK_FALSE(next_rung({}, 0, 100));
        CHECK_THROWS_WITH_AS(next_rung({StoppingRule::Halving, 3, 1}, 0, 100), doctest::Contains("rungs do not grow"),
                             fedhive::Fault);
    }

    TEST_CASE("HalvingKeepsTheBestByTheLastAccuracy") {
        // The best quality so far of run 1 does not count.
        const std::vector<Qualities> runs{{0.1, 0.2}, {0.9, 0.3}, {0.1, 0.5}, {0.4}, {0.1}, {0.0}, {0.2}};
        CHECK(stopped(kHalving, 3, runs) == Reasons{"rank 4 of 7 after round 3", "", "", "", "rank 6 of 7 after round 3",
                                                    "rank 7 of 7 after round 3", "rank 5 of 7 after round 3"});
    }

    TEST_CASE("HalvingTiesGoByOrder") {
        CHECK(stopped({StoppingRule::Halving, 1, 2}, 4, {{0.5}, {0.5}, {0.5}, {0.5}}) ==
              Reasons{"", "", "rank 3 of 4 after round 4", "rank 4 of 4 after round 4"});
        CHECK(stopped(kHalving, 3, {{0.5}}) == Reasons{""});
        CHECK(stopped(kHalving, 3, {{}, {0.0}}) == Reasons{"rank 2 of 2 after round 3", ""});
    }

    TEST_CASE("MedianStopsWhoseBestIsBelowTheMedianOfMeans") {
        // Means: 0.5, 0.3, 0.4; median 0.4.
        CHECK(stopped(kMedian, 2, {{0.25, 0.75}, {0.2, 0.4}, {0.4, 0.4}}) == Reasons{"", "", ""});
        CHECK(stopped(kMedian, 2, {{0.25, 0.75}, {0.2, 0.375}, {0.4, 0.4}}) ==
              Reasons{"", "best accuracy 0.3750 below the median 0.4000 after round 2", ""});
        // An even number: midway between the two in the middle, 0.375.
        CHECK(stopped(kMedian, 4, {{0.5}, {0.25}, {0.125}, {0.75}}) ==
              Reasons{"", "best accuracy 0.2500 below the median 0.3750 after round 4",
                      "best accuracy 0.1250 below the median 0.3750 after round 4", ""});
        CHECK(stopped(kMedian, 2, {}).empty());
    }

    TEST_CASE("WhereLowerIsBetterTheHighestGo") {
        CHECK(stopped(kHalving, 3, {{0.1, 0.2}, {0.4}, {}}, "regression") ==
              Reasons{"", "rank 2 of 3 after round 3", "rank 3 of 3 after round 3"});
        // Means: 0.5, 1.5, 3; the median is 1.5, and the second run's best is below it.
        CHECK(stopped(kMedian, 2, {{0.5}, {2.0, 1.0}, {4.0, 2.0}}, "regression") ==
              Reasons{"", "", "best MSE 2.0000 above the median 1.5000 after round 2"});
    }
}
