// What every sampler promises, whatever is in the catalog; then each by itself.
#include "sim/selection/sampler.h"

#include "aggregation/base/error.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::uint64_t kTwelve = 12;
const std::vector<std::uint64_t> kExamples{10, 3, 50, 7, 1, 90, 20, 20, 4, 12, 60, 35};

std::unique_ptr<Sampler> sampler_of(const std::string& name, std::span<const std::uint64_t> num_examples = kExamples) {
    const SamplerSpec& spec = sampler_spec(name);
    Values values;
    if (name == "fixed") values.set("clients", std::vector<double>{11, 2, 7, 0, 5, 3, 9});
    std::vector<std::vector<std::uint64_t>> label_counts;
    for (const std::uint64_t n : num_examples) label_counts.push_back({n / 2, n - n / 2, n % 7});
    return spec.build({.values = completed(values, spec.keys), .num_examples = num_examples, .label_counts = label_counts});
}

Stream stream_of(std::uint32_t round) { return Stream(3, Purpose::Sampling, round); }

/// The measure of a client, for samplers that ask for one.
std::vector<std::optional<double>> tell(const Cohort& clients) {
    std::vector<std::optional<double>> told;
    for (const std::uint32_t client : clients) told.emplace_back(1.0 / (1.0 + (client * 5) % 12));
    return told;
}

/// Nobody busy; two busy; client 2 and every fourth away; all of these.
std::vector<Candidates> some_candidates() {
    const auto is_there = [](std::uint32_t client) { return client != 2 && client % 4 != 3; };
    return {Candidates(kTwelve, {}, {}, tell), Candidates(kTwelve, {0, 5}, {}, tell), Candidates(kTwelve, {}, is_there, tell),
            Candidates(kTwelve, {0, 5}, is_there, tell)};
}

std::vector<ClientOutcome> told_of(const Cohort& cohort, std::uint32_t round) {
    std::vector<ClientOutcome> outcomes;
    for (const std::uint32_t client : cohort)
        outcomes.push_back({.client_id = client,
                            .num_examples = kExamples[client],
                            .steps = 4,
                            .train_loss = 1.0 / (1.0 + client + round),
                            .update_norm = 0.5,
                            .seconds = 2.0});
    return outcomes;
}

/// The cohorts of rounds [first, end), each told of before the next.
std::vector<Cohort> cohorts(Sampler& sampler, std::uint32_t first, std::uint32_t end) {
    std::vector<Cohort> all;
    const std::vector<Candidates> candidates = some_candidates();
    for (std::uint32_t round = first; round < end; ++round) {
        all.push_back(sampler.sample(candidates[round % candidates.size()], 1 + round % 5, stream_of(round)));
        sampler.learn(told_of(all.back(), round));
    }
    return all;
}

/// Σ (seen - expected)² / expected.
double distance_from(const std::map<Cohort, double>& probability, const std::map<Cohort, std::size_t>& seen,
                     std::size_t draws) {
    double sum = 0.0;
    for (const auto& [cohort, p] : probability) {
        const double expected = p * static_cast<double>(draws);
        const double times = seen.contains(cohort) ? static_cast<double>(seen.at(cohort)) : 0.0;
        sum += (times - expected) * (times - expected) / expected;
    }
    return sum;
}

}  // namespace

TEST_SUITE("EverySampler") {
    TEST_CASE("AsksCandidatesOnceInAscendingOrderAndAsManyAsItCan") {
        for (const std::string& name : names_of(sampler_catalog())) {
            CAPTURE(name);
            const auto sampler = sampler_of(name);
            std::uint32_t round = 0;
            for (const Candidates& candidates : some_candidates())
                for (const std::size_t count : {0U, 1U, 4U, 12U, 40U}) {
                    std::size_t may_come = 0;
                    for (std::uint32_t client = 0; client < kTwelve; ++client)
                        may_come += candidates.has(client) && sampler->asks(client) ? 1 : 0;
                    const Cohort cohort = sampler->sample(candidates, count, stream_of(round++));
                    const bool repeats = sampler_spec(name).repeats;
                    CHECK(cohort.size() == (repeats ? count : std::min(count, may_come)));
                    CHECK(std::is_sorted(cohort.begin(), cohort.end()));
                    if (!repeats) CHECK(std::set<std::uint32_t>(cohort.begin(), cohort.end()).size() == cohort.size());
                    for (const std::uint32_t client : cohort) CHECK((candidates.has(client) && sampler->asks(client)));
                }
        }
    }

    TEST_CASE("GoesOnFromItsStateAsIfNothingHadHappened") {
        for (const std::string& name : names_of(sampler_catalog())) {
            CAPTURE(name);
            const auto whole = sampler_of(name);
            const auto first = sampler_of(name);
            const auto second = sampler_of(name);
            std::vector<Cohort> expected = cohorts(*whole, 0, 40);
            CHECK(cohorts(*first, 0, 17) == std::vector<Cohort>(expected.begin(), expected.begin() + 17));
            REQUIRE(second->restore(first->state()));
            CHECK(second->state() == first->state());
            CHECK(cohorts(*second, 17, 40) == std::vector<Cohort>(expected.begin() + 17, expected.end()));
        }
    }

    TEST_CASE("TakesNothingFromAStateOfAnother") {
        for (const std::string& name : names_of(sampler_catalog())) {
            CAPTURE(name);
            CHECK(sampler_of(name)->restore(""));  // of a run that has not begun
            for (const char* state : {"x", "12", "-1", "3 ", "1e1", "99999999999999999999"}) {
                CAPTURE(state);
                CHECK_FALSE(sampler_of(name)->restore(state));
            }
        }
    }
}

TEST_SUITE("ExamplesSampler") {
    TEST_CASE("AClientIsAsLikelyAsItHasExamples") {
        const std::size_t draws = fedhive::testing::draws(20000);
        double total = 0.0;
        for (const std::uint64_t n : kExamples) total += static_cast<double>(n);
        std::map<Cohort, double> probability;
        for (std::uint32_t client = 0; client < kTwelve; ++client)
            probability[{client}] = static_cast<double>(kExamples[client]) / total;
        std::map<Cohort, std::size_t> seen;
        const auto sampler = sampler_of("examples");
        for (std::uint32_t round = 0; round < draws; ++round) ++seen[sampler->sample(Candidates(kTwelve), 1, stream_of(round))];
        CHECK(distance_from(probability, seen, draws) < fedhive::testing::chi_square_bound(kTwelve));
    }

    TEST_CASE("ThoseWhoAreLeftOfTheCandidatesShareTheProbabilityOfOthers") {
        const std::size_t draws = fedhive::testing::draws(20000);
        const std::vector<std::uint64_t> examples{1, 2, 3, 4, 5, 6, 7};
        const std::set<std::uint32_t> candidates{1, 2, 4, 6};  // 0 is busy, 3 and 5 are away
        double total = 0.0;
        for (const std::uint32_t client : candidates) total += static_cast<double>(examples[client]);
        std::map<Cohort, double> probability;
        for (const std::uint32_t a : candidates)
            for (const std::uint32_t b : candidates) {
                if (a == b) continue;
                const auto n_a = static_cast<double>(examples[a]), n_b = static_cast<double>(examples[b]);
                probability[{std::min(a, b), std::max(a, b)}] += n_a / total * n_b / (total - n_a);
            }
        std::map<Cohort, std::size_t> seen;
        const auto sampler = sampler_of("examples", examples);
        const Candidates some(7, {0}, [](std::uint32_t client) { return client != 3 && client != 5; });
        for (std::uint32_t round = 0; round < draws; ++round) ++seen[sampler->sample(some, 2, stream_of(round))];
        CHECK(distance_from(probability, seen, draws) < fedhive::testing::chi_square_bound(probability.size()));
    }

    TEST_CASE("ClientWithoutExamplesIsNeverAsked") {
        const std::vector<std::uint64_t> examples{0, 5, 0, 1, 0};
        const auto sampler = sampler_of("examples", examples);
        CHECK_FALSE(sampler->asks(0));
        CHECK(sampler->sample(Candidates(5), 4, stream_of(0)) == Cohort{1, 3});
        CHECK(sampler->sample(Candidates(5, {1, 3}), 4, stream_of(0)).empty());
    }
}

TEST_SUITE("FixedSampler") {
    TEST_CASE("CohortIsTheFirstOfTheListThatCanBeAsked") {
        const auto sampler = sampler_of("fixed");  // 11, 2, 7, 0, 5, 3, 9
        CHECK(sampler->sample(Candidates(kTwelve), 3, stream_of(0)) == Cohort{2, 7, 11});
        CHECK(sampler->sample(Candidates(kTwelve), 3, stream_of(1)) == Cohort{2, 7, 11});
        CHECK(sampler->sample(Candidates(kTwelve, {7}), 3, stream_of(0)) == Cohort{0, 2, 11});
        const Candidates some(kTwelve, {7}, [](std::uint32_t client) { return client != 11; });
        CHECK(sampler->sample(some, 3, stream_of(0)) == Cohort{0, 2, 5});
        CHECK(sampler->sample(Candidates(kTwelve, {0, 2, 3, 5, 7, 9}), 3, stream_of(0)) == Cohort{11});
    }

    TEST_CASE("NobodyElseIsAsked") {
        const auto sampler = sampler_of("fixed");
        CHECK(sampler->asks(9));
        CHECK_FALSE(sampler->asks(1));
    }
}

TEST_SUITE("RoundRobinSampler") {
    TEST_CASE("EveryClientHasItsTurn") {
        const auto sampler = sampler_of("round_robin");
        const Candidates all(kTwelve);
        CHECK(sampler->sample(all, 5, stream_of(0)) == Cohort{0, 1, 2, 3, 4});
        CHECK(sampler->sample(all, 5, stream_of(1)) == Cohort{5, 6, 7, 8, 9});
        CHECK(sampler->state() == "10");
        CHECK(sampler->sample(all, 5, stream_of(2)) == Cohort{0, 1, 2, 10, 11});
        CHECK(sampler->state() == "3");
        CHECK(sampler->sample(all, 0, stream_of(3)).empty());
        CHECK(sampler->state() == "3");
    }

    TEST_CASE("WhoCannotBeAskedIsPassedOverUntilTheNextTurn") {
        const auto sampler = sampler_of("round_robin");
        CHECK(sampler->sample(Candidates(kTwelve, {0, 2}), 3, stream_of(0)) == Cohort{1, 3, 4});
        const auto is_there = [](std::uint32_t client) { return client == 4 || client == 8; };
        CHECK(sampler->sample(Candidates(kTwelve, {}, is_there), 3, stream_of(1)) == Cohort{4, 8});
        CHECK(sampler->sample(Candidates(kTwelve), 2, stream_of(2)) == Cohort{5, 6});
    }
}

TEST_SUITE("PowerOfChoiceSampler") {
    const std::vector<std::uint64_t> kAlike(6, 10);

    TEST_CASE("ThoseWithTheLargestLastLossAreAskedAndNewOnesBefore") {
        const auto sampler =
            sampler_spec("power_of_choice")
                .build({.values = {{"factor", std::int64_t{3}}, {"losses", "reported"}}, .num_examples = kAlike});
        const auto learn = [&](std::uint32_t client, double loss) {
            sampler->learn(std::vector<ClientOutcome>{{.client_id = client, .train_loss = loss}});
        };
        const Candidates all(6);  // factor 3: two clients are chosen from all six
        CHECK(sampler->sample(all, 2, stream_of(0)) == Cohort{0, 1});
        for (std::uint32_t client = 0; client < 5; ++client) learn(client, 1.0 + client);
        CHECK(sampler->sample(all, 2, stream_of(1)) == Cohort{4, 5});
        learn(5, 0.5);
        learn(2, 9.0);
        CHECK(sampler->sample(all, 2, stream_of(2)) == Cohort{2, 4});
        learn(0, std::nan(""));
        CHECK(sampler->sample(all, 2, stream_of(3)) == Cohort{0, 2});
        CHECK(sampler->sample(Candidates(6, {2}), 2, stream_of(4)) == Cohort{0, 4});
        CHECK(sampler->state() == "0:inf,1:2,2:9,3:4,4:5,5:0.5,");
    }

    TEST_CASE("MeasuredLossesAreAskedForAndWhoTellsNoneIsNotChosen") {
        const SamplerSpec& spec = sampler_spec("power_of_choice");
        const Values values{{"factor", std::int64_t{3}}, {"losses", "measured"}};
        CHECK(spec.measured(values, 4) == 12);
        CHECK(spec.measured(completed({}, spec.keys), 4) == 0);
        const auto sampler = spec.build({.values = values, .num_examples = kAlike});
        Cohort asked;
        const auto ask = [&](const Cohort& clients) {
            asked = clients;
            std::vector<std::optional<double>> losses;
            for (const std::uint32_t client : clients)
                losses.push_back(client == 5 ? std::nullopt : std::optional(client == 3 ? 1.0 : 1.0 / (1.0 + client)));
            return losses;
        };
        const Candidates all(6, {}, {}, ask);
        CHECK(sampler->sample(all, 2, stream_of(0)) == Cohort{0, 3});  // alike: the smaller id first
        CHECK(asked == Cohort{0, 1, 2, 3, 4, 5});
        CHECK(sampler->sample(Candidates(6, {0, 1}, {}, ask), 3, stream_of(1)) == Cohort{2, 3, 4});
        CHECK(asked == Cohort{2, 3, 4, 5});
        sampler->sample(Candidates(6, {}, {}, ask), 1, stream_of(2));
        CHECK(asked.size() == 3);
        CHECK(sampler->sample(Candidates(6, {0, 1, 2, 3, 4}, {}, ask), 2, stream_of(3)).empty());
        sampler->learn(std::vector<ClientOutcome>{{.client_id = 4, .train_loss = 9.0}});
        CHECK(sampler->state().empty());
        CHECK_THROWS_AS(sampler->sample(Candidates(6), 2, stream_of(4)), Fault);  // nobody can be asked
    }

    TEST_CASE("OneCandidateForEachIsSamplingByExamples") {
        const auto sampler =
            sampler_spec("power_of_choice")
                .build({.values = {{"factor", std::int64_t{1}}, {"losses", "reported"}}, .num_examples = kExamples});
        sampler->learn(told_of({1, 4, 9}, 0));
        for (std::uint32_t round = 0; round < 50; ++round)
            CHECK(sampler->sample(Candidates(kTwelve), 3, stream_of(round)) ==
                  sampler_of("examples")->sample(Candidates(kTwelve), 3, stream_of(round)));
    }
}

TEST_SUITE("Oort") {
    TEST_CASE("NewOnesFirstThenThoseOfLargeUtility") {
        const std::vector<std::uint64_t> alike(10, 20);
        const SamplerSpec& spec = sampler_spec("oort");
        const Values values =
            completed({{"exploration", 0.5}, {"exploration_decay", 1.0}, {"least_exploration", 0.0}}, spec.keys);
        const auto sampler = spec.build({.values = values, .num_examples = alike});
        CHECK(sampler->sample(Candidates(10), 4, stream_of(0)).size() == 4);  // nobody is known: all are new
        std::vector<ClientOutcome> told;
        for (std::uint32_t client = 0; client < 8; ++client)
            told.push_back({.client_id = client, .num_examples = 20, .train_loss = client < 6 ? 0.1 : 5.0, .seconds = 1.0});
        sampler->learn(told);
        for (std::uint32_t round = 1; round < 50; ++round) {
            const Cohort cohort = sampler->sample(Candidates(10), 4, stream_of(round));
            CHECK(cohort == Cohort{6, 7, 8, 9});  // half of them new, 8 and 9; of the known ones those of large loss
        }
    }

    TEST_CASE("SlowClientsAreWorthLess") {
        const std::vector<std::uint64_t> alike(4, 20);
        const SamplerSpec& spec = sampler_spec("oort");
        const auto first_of = [&](const Values& given) {
            const auto sampler = spec.build({.values = completed(given, spec.keys), .num_examples = alike});
            std::vector<ClientOutcome> told;
            for (std::uint32_t client = 0; client < 4; ++client)
                told.push_back({.client_id = client,
                                .num_examples = 20,
                                .train_loss = client >= 2 ? 2.0 : 1.0,
                                .seconds = client >= 2 ? 9.0 : 1.0});
            sampler->learn(told);
            return sampler->sample(Candidates(4), 1, stream_of(3));
        };
        CHECK(first_of({{"exploration", 0.0}, {"least_exploration", 0.0}}).front() >= 2);
        CHECK(
            first_of({{"exploration", 0.0}, {"least_exploration", 0.0}, {"preferred_s", std::optional<double>(3.0)}}).front() <
            2);
    }

    TEST_CASE("DrawsInProportionToUtility") {
        const std::vector<std::uint64_t> alike(3, 100);
        const SamplerSpec& spec = sampler_spec("oort");
        const auto sampler = spec.build(
            {.values = completed({{"exploration", 0.0}, {"least_exploration", 0.0}}, spec.keys), .num_examples = alike});
        std::vector<ClientOutcome> told;
        const std::array<double, 3> losses{1.0, 0.98, 0.97};  // all near the best, so all may be drawn
        for (std::uint32_t client = 0; client < 3; ++client)
            told.push_back({.client_id = client, .num_examples = 100, .train_loss = losses[client], .seconds = 1.0});
        sampler->learn(told);
        std::map<Cohort, std::size_t> seen;
        constexpr std::size_t kDraws = 6000;
        for (std::uint32_t round = 0; round < kDraws; ++round) ++seen[sampler->sample(Candidates(3), 1, stream_of(round))];
        // The 95th percentile of three gains is the second largest, so the largest counts as that.
        const double total = 0.98 + 0.98 + 0.97;
        const std::map<Cohort, double> expected{{{0}, 0.98 / total}, {{1}, 0.98 / total}, {{2}, 0.97 / total}};
        CHECK(distance_from(expected, seen, kDraws) < 20.0);
    }
}

TEST_SUITE("ActiveFederatedLearning") {
    TEST_CASE("LargeLossesAreLikelierAndSmallOnesOnlyUniform") {
        const std::vector<std::uint64_t> alike(4, 100);
        const SamplerSpec& spec = sampler_spec("active");
        const auto probabilities = [&](const Values& given) {
            const auto sampler = spec.build({.values = completed(given, spec.keys), .num_examples = alike});
            std::vector<ClientOutcome> told;
            for (std::uint32_t client = 0; client < 4; ++client)
                told.push_back({.client_id = client, .num_examples = 100, .train_loss = 0.1 * client});
            sampler->learn(told);
            std::map<Cohort, std::size_t> seen;
            for (std::uint32_t round = 0; round < 6000; ++round) ++seen[sampler->sample(Candidates(4), 1, stream_of(round))];
            return seen;
        };
        // Values 0, 1, 2, 3; the lower half is left out: e^2 against e^3.
        const double total = std::exp(2.0) + std::exp(3.0);
        const std::map<Cohort, double> by_value{{{2}, std::exp(2.0) / total}, {{3}, std::exp(3.0) / total}};
        const auto seen = probabilities({{"left_out", 0.5}, {"sharpness", 1.0}, {"uniform", 0.0}});
        CHECK(seen.size() == 2);
        CHECK(distance_from(by_value, seen, 6000) < 20.0);
        const std::map<Cohort, double> all_alike{{{0}, 0.25}, {{1}, 0.25}, {{2}, 0.25}, {{3}, 0.25}};
        CHECK(distance_from(all_alike, probabilities({{"uniform", 1.0}}), 6000) < 20.0);
    }
}
