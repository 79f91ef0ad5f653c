#include "sim/sweep/interval.h"

#include <doctest/doctest.h>

#include <vector>

using namespace fedhive::sim;

TEST_SUITE("Interval") {
    TEST_CASE("SingleValueHasNoInterval") {
        const MeanInterval one = mean_interval(std::vector{0.25});
        CHECK(one.mean == 0.25);
        CHECK_FALSE(one.half_width.has_value());
    }

    TEST_CASE("IntervalIsThatOfTheTables") {
        // t(0.975) is 12.7062 with 1 and 2.77645 with 4 degrees of freedom.
        const MeanInterval two = mean_interval(std::vector{1.0, 3.0});
        CHECK(two.mean == 2.0);
        CHECK(*two.half_width == doctest::Approx(12.7062).epsilon(1e-5));
        const MeanInterval five = mean_interval(std::vector{1.0, 2.0, 3.0, 4.0, 5.0});
        CHECK(five.mean == 3.0);
        CHECK(*five.half_width == doctest::Approx(2.77645 * 1.5811388 / 2.2360680).epsilon(1e-5));
    }

    TEST_CASE("EqualValuesHaveAnIntervalOfNoWidth") { CHECK(*mean_interval(std::vector{0.5, 0.5, 0.5}).half_width == 0.0); }

    TEST_CASE("TextHasTheDigitsThatTheHalfWidthLeaves") {
        const auto text = [](double mean, double half) { return to_string({mean, half}, 4); };
        CHECK(text(0.91, 0.127062) == "0.91 ± 0.13");
        CHECK(text(0.97841, 0.00352) == "0.9784 ± 0.0035");
        CHECK(text(0.5, 0.0996) == "0.50 ± 0.10");
        CHECK(text(26.184, 3.07) == "26.2 ± 3.1");
        CHECK(text(26.184, 10.0) == "26 ± 10");
        CHECK(text(1234.5, 123.4) == "1230 ± 120");
        CHECK(text(0.97, 0.0) == "0.9700 ± 0");
        CHECK(text(0.97, 1e-17) == "0.9700 ± 0");
        CHECK(to_string({0.97, std::nullopt}, 4) == "0.9700");
    }
}
