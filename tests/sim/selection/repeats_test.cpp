// Samplers that may draw a client several times: how often, and how a cohort counts it.
#include "sim/selection/sampler.h"

#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::unique_ptr<Sampler> repeating(const std::string& name, const std::vector<std::uint64_t>& num_examples) {
    return sampler_spec(name).build({.values = {}, .num_examples = num_examples});
}

Stream draws_of_round(std::uint32_t round) { return Stream(3, Purpose::Sampling, round); }

/// Σ (seen - expected)² / expected over cohorts drawn `draws` times.
double distance_of(Sampler& sampler, const Candidates& candidates, const std::map<Cohort, double>& probability,
                   std::size_t count, std::uint32_t draws) {
    std::map<Cohort, double> seen;
    for (std::uint32_t round = 0; round < draws; ++round) {
        const Cohort cohort = sampler.sample(candidates, count, draws_of_round(round));
        CHECK(probability.contains(cohort));
        seen[cohort] += 1.0;
    }
    double sum = 0.0;
    for (const auto& [cohort, p] : probability) {
        const double expected = p * draws;
        sum += (seen[cohort] - expected) * (seen[cohort] - expected) / expected;
    }
    return sum;
}

}  // namespace

TEST_SUITE("Repeats") {
    TEST_CASE("DrawsByExamplesAreIndependent") {
        const auto sampler = repeating("with_replacement", {5, 0, 3, 2, 10});
        const std::map<Cohort, double> all{{{0, 0}, 0.0625}, {{0, 2}, 0.075}, {{0, 3}, 0.05}, {{0, 4}, 0.25}, {{2, 2}, 0.0225},
                                           {{2, 3}, 0.03},   {{2, 4}, 0.15},  {{3, 3}, 0.01}, {{3, 4}, 0.1},  {{4, 4}, 0.25}};
        const auto draws = static_cast<std::uint32_t>(fedhive::testing::draws(20000));
        CHECK(distance_of(*sampler, Candidates(5), all, 2, draws) < fedhive::testing::chi_square_bound(all.size()));
        const std::map<Cohort, double> of_those_there{{{0, 0}, 0.25}, {{0, 2}, 0.3},  {{0, 3}, 0.2},
                                                      {{2, 2}, 0.09}, {{2, 3}, 0.12}, {{3, 3}, 0.04}};
        const Candidates without_4(5, {}, [](std::uint32_t client) { return client != 4; });
        CHECK(distance_of(*sampler, without_4, of_those_there, 2, draws) <
              fedhive::testing::chi_square_bound(of_those_there.size()));
    }

    TEST_CASE("AClusterGivesOneClientByItsLengthThere") {
        // On a line of 2 · 12: client 1 [0, 10), 0 [10, 18), 2 [18, 24); clusters [0, 12) and [12, 24).
        const auto sampler = repeating("clustered", {4, 5, 3});
        const std::map<Cohort, double> all{{{0, 1}, 10.0 / 24}, {{1, 2}, 10.0 / 24}, {{0, 0}, 2.0 / 24}, {{0, 2}, 2.0 / 24}};
        const auto draws = static_cast<std::uint32_t>(fedhive::testing::draws(20000));
        CHECK(distance_of(*sampler, Candidates(3), all, 2, draws) < fedhive::testing::chi_square_bound(all.size()));
    }

    TEST_CASE("ClustersOfOneClientLeaveNoChance") {
        const auto sampler = repeating("clustered", {6, 12, 6, 0});
        for (std::uint32_t round = 0; round < 50; ++round)
            CHECK(sampler->sample(Candidates(4), 4, draws_of_round(round)) == Cohort{0, 1, 1, 2});
        const Candidates without_1(4, {}, [](std::uint32_t client) { return client != 1; });
        CHECK(sampler->sample(without_1, 2, draws_of_round(0)) == Cohort{0, 2});
        CHECK(sampler->sample(Candidates(4, {0, 1, 2}), 2, draws_of_round(0)).empty());
        CHECK_FALSE(sampler->asks(3));
    }

    TEST_CASE("ACohortCountsEachClient") {
        const CountedCohort counted = CountedCohort::of({2, 2, 5, 7, 7, 7});
        CHECK(counted.clients == Cohort{2, 5, 7});
        CHECK(counted.draws == std::vector<std::uint32_t>{2, 1, 3});
        CHECK(CountedCohort::of({2, 5, 7}).clients == Cohort{2, 5, 7});
        CHECK(CountedCohort::of({2, 5, 7}).draws.empty());
        CHECK(CountedCohort::of({}).clients.empty());
    }
}
