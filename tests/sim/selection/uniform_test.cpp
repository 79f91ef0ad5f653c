// The uniform sampler: its draws, and that each client is equally likely.
#include "sim/selection/sampler.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::unique_ptr<Sampler> uniform() { return sampler_spec("uniform").build({}); }

Stream of_round(std::uint32_t round) { return Stream(3, Purpose::Sampling, round); }

}  // namespace

TEST_SUITE("UniformSampler") {
    TEST_CASE("CohortIsSortedDistinctAndInRange") {
        for (const std::uint64_t population : {1ULL, 2ULL, 7ULL, 100ULL, 1'000'000ULL}) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}}) {
                for (std::uint32_t round = 0; round < 20; ++round) {
                    const Cohort cohort = uniform()->sample(Candidates(population), count, of_round(round));
                    REQUIRE(cohort.size() == std::min<std::uint64_t>(count, population));
                    REQUIRE(std::is_sorted(cohort.begin(), cohort.end()));
                    REQUIRE(std::set<std::uint32_t>(cohort.begin(), cohort.end()).size() == cohort.size());
                    REQUIRE(cohort.back() < population);
                }
            }
        }
    }

    TEST_CASE("EveryClientIsEquallyLikely") {
        std::vector<std::size_t> drawn(10);
        for (std::uint32_t round = 0; round < 6000; ++round)
            for (const std::uint32_t client : uniform()->sample(Candidates(10), 1, of_round(round))) ++drawn[client];
        CHECK(fedhive::testing::chi_square(drawn) < fedhive::testing::chi_square_bound(10));
    }

    TEST_CASE("CohortsOfAnyShareOfTheClientsAreFloydsDraws") {
        for (const std::uint64_t population : {100ULL, 6400ULL, 6401ULL, 1'000'000ULL}) {
            Stream stream = of_round(0);
            std::set<std::uint32_t> expected;
            for (std::uint64_t last = population - 100; last < population; ++last)
                if (!expected.insert(static_cast<std::uint32_t>(stream.below(last + 1))).second)
                    expected.insert(static_cast<std::uint32_t>(last));
            CHECK(uniform()->sample(Candidates(population), 100, of_round(0)) == Cohort(expected.begin(), expected.end()));
        }
    }

    TEST_CASE("SeedAndRoundDecide") {
        const auto draw = [](std::uint64_t seed, std::uint32_t round) {
            return uniform()->sample(Candidates(1000), 5, Stream(seed, Purpose::Sampling, round));
        };
        CHECK(draw(1, 0) == draw(1, 0));
        CHECK(draw(1, 0) != draw(2, 0));
        CHECK(draw(1, 0) != draw(1, 1));
    }
}
