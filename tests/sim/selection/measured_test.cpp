// Samplers by what clients are asked for, the norm of their gradients, and by the classes of their examples.
#include "sim/selection/sampler.h"

#include "aggregation/base/error.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

Stream stream_in_round(std::uint32_t round) { return Stream(5, Purpose::Sampling, round); }

/// The sampler after `rounds` rounds in which clients were accepted `times` times in all.
std::unique_ptr<Sampler> balanced_after(const nlohmann::json& known) {
    const auto counts = known["counts"].get<std::vector<std::vector<std::uint64_t>>>();
    auto sampler = sampler_spec("class_balanced")
                       .build({.values = {{"rarity", known["exploration"].get<double>()}}, .label_counts = counts});
    const auto times = known["times"].get<std::vector<std::uint64_t>>();
    for (std::uint64_t round = 0; round < known["rounds"].get<std::uint64_t>(); ++round) {
        std::vector<ClientOutcome> accepted;
        for (std::uint32_t client = 0; client < times.size(); ++client)
            if (round < times[client]) accepted.push_back({.client_id = client});
        sampler->learn(accepted);
    }
    return sampler;
}

}  // namespace

TEST_SUITE("GradientNormSampler") {
    TEST_CASE("ThoseWithTheLargestNormAreAskedAndWhoTellsNoneIsNot") {
        const SamplerSpec& spec = sampler_spec("gradient_norm");
        CHECK(spec.measure == "gradient_norm");
        CHECK(spec.measured({{"candidates", std::optional<std::int64_t>(3)}}, 4) == 12);
        CHECK(spec.measured(completed({}, spec.keys), 4) > 1'000'000);
        const std::vector<std::uint64_t> alike(6, 10);
        Cohort asked;
        const auto ask = [&](const Cohort& clients) {
            asked = clients;
            std::vector<std::optional<double>> norms;
            for (const std::uint32_t client : clients)
                norms.push_back(client == 5 ? std::nullopt : std::optional(client == 3 ? 1.0 : 1.0 / (1.0 + client)));
            return norms;
        };
        const auto everybody = spec.build({.values = completed({}, spec.keys), .num_examples = alike});
        CHECK(everybody->sample(Candidates(6, {}, {}, ask), 2, stream_in_round(0)) ==
              Cohort{0, 3});  // alike: the lower id first
        CHECK(asked == Cohort{0, 1, 2, 3, 4, 5});
        CHECK(everybody->sample(Candidates(6, {0, 1}, {}, ask), 3, stream_in_round(1)) == Cohort{2, 3, 4});
        CHECK(everybody->sample(Candidates(6, {0, 1, 2, 3, 4}, {}, ask), 2, stream_in_round(2)).empty());
        CHECK_THROWS_AS(everybody->sample(Candidates(6), 2, stream_in_round(3)), Fault);  // nobody can be asked
        const auto some = spec.build({.values = {{"candidates", std::optional<std::int64_t>(2)}}, .num_examples = alike});
        std::map<Cohort, int> seen;
        for (std::uint32_t round = 0; round < 60; ++round) {
            some->sample(Candidates(6, {}, {}, ask), 1, stream_in_round(round));
            CHECK(asked.size() == 2);
            ++seen[asked];
        }
        CHECK(seen.size() > 10);  // of 15 pairs
    }
}

TEST_SUITE("ClassBalancedSampler") {
    TEST_CASE("CohortsHaveTheProbabilitiesOfThePaper") {
        const auto all =
            nlohmann::json::parse(std::ifstream(FEDHIVE_SOURCE_DIR "/tests/golden/measures.json"))["class_balanced"];
        REQUIRE(all.size() == 2);
        for (const auto& known : all) {
            const auto sampler = balanced_after(known);
            const auto cohort = known["cohort"].get<std::size_t>();
            const auto draws = static_cast<std::uint32_t>(fedhive::testing::draws(20000));
            std::map<Cohort, double> seen;
            for (std::uint32_t round = 0; round < draws; ++round)
                seen[sampler->sample(Candidates(5), cohort, stream_in_round(round))] += 1.0;
            double distance = 0.0, counted = 0.0;
            for (const auto& one : known["probability"]) {
                const double expected = one[1].get<double>() * draws, times = seen[one[0].get<Cohort>()];
                distance += (times - expected) * (times - expected) / expected;
                counted += times;
            }
            CHECK(counted == draws);
            CHECK(distance < fedhive::testing::chi_square_bound(known["probability"].size()));
        }
    }

    TEST_CASE("WhoIsAwayOrHasNoExamplesIsNotDrawn") {
        const std::vector<std::vector<std::uint64_t>> counts{{5, 5}, {0, 0}, {9, 1}, {1, 9}};
        const auto sampler = sampler_spec("class_balanced").build({.values = {{"rarity", 0.0}}, .label_counts = counts});
        CHECK(sampler->sample(Candidates(4), 4, stream_in_round(0)) == Cohort{0, 2, 3});
        CHECK(sampler->sample(Candidates(4, {0}), 2, stream_in_round(1)) == Cohort{2, 3});
        CHECK(sampler->sample(Candidates(4, {0, 2, 3}), 2, stream_in_round(2)).empty());
        CHECK_FALSE(sampler->asks(1));
    }

    TEST_CASE("StateIsRoundsAndHowOftenClientsWereAccepted") {
        const std::vector<std::vector<std::uint64_t>> counts(4, {1, 1});
        const auto make = [&] {
            return sampler_spec("class_balanced").build({.values = {{"rarity", 1.0}}, .label_counts = counts});
        };
        const auto sampler = make();
        sampler->learn(std::vector<ClientOutcome>{{.client_id = 3}, {.client_id = 1}});
        sampler->learn(std::vector<ClientOutcome>{{.client_id = 3}});
        CHECK(sampler->state() == "2;1:1,3:2,");
        CHECK(make()->restore("2;1:1,3:2,"));
        for (const char* state : {"2", "2;4:1,", ";1:1,", "2;1:1", "x;"}) CHECK_FALSE(make()->restore(state));
    }
}
