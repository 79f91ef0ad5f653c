#include "sim/schedules/lr_schedule.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::vector<float> factors(const LrSchedule& schedule, std::uint64_t rounds) {
    std::vector<float> all;
    for (std::uint64_t round = 0; round < rounds; ++round) all.push_back(schedule.factor(round));
    return all;
}

}  // namespace

TEST_SUITE("LrSchedule") {
    TEST_CASE("ConstantIsExactlyTheRate") { CHECK(factors(LrSchedule(), 3) == std::vector<float>{1.0F, 1.0F, 1.0F}); }

    TEST_CASE("StepFallsEverySoManyRounds") {
        const LrSchedule schedule("step", {{"every", std::int64_t{2}}, {"gamma", 0.5}}, 0);
        CHECK(factors(schedule, 6) == std::vector<float>{1.0F, 1.0F, 0.5F, 0.5F, 0.25F, 0.25F});
        const LrSchedule each("step", {}, 0);
        CHECK(each.factor(100) == doctest::Approx(std::pow(0.99, 100)));
    }

    TEST_CASE("CosineGoesFromTheRateToTheLeastAndStaysThere") {
        const LrSchedule schedule("cosine", {{"over", std::int64_t{4}}, {"least", 0.2}}, 0);
        const std::vector<double> expected = {
            1.0, 0.2 + 0.8 * (0.5 + 0.5 * std::sqrt(0.5)), 0.6, 0.2 + 0.8 * (0.5 - 0.5 * std::sqrt(0.5)), 0.2, 0.2};
        for (std::uint64_t round = 0; round < expected.size(); ++round)
            CHECK(schedule.factor(round) == doctest::Approx(expected[round]).epsilon(1e-6));
    }

    TEST_CASE("WarmUpRisesInEqualStepsToWhereTheScheduleBegins") {
        const LrSchedule schedule("step", {{"every", std::int64_t{1}}, {"gamma", 0.5}}, 3);
        CHECK(factors(schedule, 6) == std::vector<float>{0.25F, 0.5F, 0.75F, 1.0F, 0.5F, 0.25F});
    }

    TEST_CASE("EveryScheduleBeginsAtTheRateAndNeverComesTo0") {
        for (const LrScheduleSpec& spec : lr_schedule_catalog()) {
            CAPTURE(spec.name);
            const LrSchedule schedule(spec.name, {}, 0);
            CHECK(schedule.factor(0) == 1.0F);
            for (std::uint64_t round = 1; round < 300; ++round) {
                CHECK(schedule.factor(round) > 0.0F);
                CHECK(schedule.factor(round) <= schedule.factor(round - 1));
            }
        }
    }
}
