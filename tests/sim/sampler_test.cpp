#include "sim/sampler.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("Sampler") {
    TEST_CASE("CohortIsSortedDistinctAndInRange") {
        for (const std::uint64_t population : {1ULL, 2ULL, 7ULL, 100ULL, 1'000'000ULL}) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}}) {
                if (count > population) continue;
                for (std::uint32_t round = 0; round < 20; ++round) {
                    const Cohort cohort = sample_uniform(population, count, Stream(3, Purpose::Sampling, round));
                    REQUIRE(cohort.size() == count);
                    REQUIRE(std::is_sorted(cohort.begin(), cohort.end()));
                    REQUIRE(std::set<std::uint32_t>(cohort.begin(), cohort.end()).size() == count);
                    REQUIRE(cohort.back() < population);
                }
            }
        }
    }

    TEST_CASE("EveryClientIsEquallyLikely") {
        std::map<std::uint32_t, int> drawn;
        constexpr int kRounds = 6000;
        for (std::uint32_t round = 0; round < kRounds; ++round)
            for (const std::uint32_t client : sample_uniform(10, 3, Stream(1, Purpose::Sampling, round))) ++drawn[client];
        // 1,800 expected, standard deviation 35.5: five of them.
        for (const auto& [client, times] : drawn) CHECK(std::abs(times - 1800) < 178);
    }

    TEST_CASE("SeedAndRoundDecide") {
        const auto draw = [](std::uint64_t seed, std::uint32_t round) {
            return sample_uniform(1000, 10, Stream(seed, Purpose::Sampling, round));
        };
        CHECK(draw(1, 0) == draw(1, 0));
        CHECK(draw(1, 0) != draw(2, 0));
        CHECK(draw(1, 0) != draw(1, 1));
    }

    TEST_CASE("MoreThanThereAreIsAFault") { CHECK_THROWS_AS(sample_uniform(3, 4, Stream(1, Purpose::Sampling)), Fault); }
}
