// Methods with several models: answers of several, sums by several weights, products of a named vector, CFL and FedEM, in whole runs.
#include "tests/process/method_files.h"
#include "tests/process/rank_runs.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("SeveralModels") {
    TEST_CASE("AnAnswerIsJudgedInPlaceOfItsModelsLogits") {
        const std::string own = "memories: [{name: own, owner: client, first: w_t}]\nend: own = w\n";
        const MethodFile by_judge(own + "judge: own\n"), by_answer(own + "also_at: {mine: own}\nanswer: mine.logits\n"),
            same(own + "judge: own\nanswer: 2 * logits\n"), worst(own + "judge: own\nanswer: -logits\n");
        const auto judged = judged_with(by_judge), answered = judged_with(by_answer);
        CHECK(answered.first == judged.first);
        for (std::size_t i = 0; i < judged.second.size(); ++i)
            CHECK_EQ(answered.second[i], doctest::Approx(judged.second[i]).epsilon(1e-5));
        CHECK(judged_with(same).first == judged.first);
        CHECK(judged_with(same).second != answered.second);
        CHECK(judged_with(worst).first != judged.first);
    }

    TEST_CASE("AnotherModelOfAnAnswerHasTheClientsPartOfModelLocal") {
        const std::string own = "memories: [{name: own, owner: client, first: w_t}]\nend: own = w\n";
        const Options head{"model.local=[\"fc2*\"]"};
        const auto judged = judged_with(MethodFile(own + "judge: where(local, w_t, own)\n"), head),
                   answered = judged_with(MethodFile(own + "also_at: {mine: own}\nanswer: mine.logits\n"), head);
        CHECK(answered.first == judged.first);
        for (std::size_t i = 0; i < judged.second.size(); ++i)
            CHECK_EQ(answered.second[i], doctest::Approx(judged.second[i]).epsilon(1e-5));
    }

    TEST_CASE("SumsBySeveralWeightsAreThoseOfMethodsWithOneEach") {
        const MethodFile one("cohort: weight = k.n / sum_k(k.n)\nserver: w = w + u\n"),
            two("cohort: [weight = k.n * (k.n > 50), by_2 = k.n * (k.n <= 50) * (k.n > 30), by_3 = k.n * (k.n <= 30), all = "
                "sum_k(k.n)]\n"
                "server: w = w + (u + by_2.u + by_3.u) / all\n"),
            beside("cohort: by_2 = (k.n > 50) / sum_k(k.n > 50)\nserver: w = w + 0 * u + by_2.u\n"),
            alone("cohort: weight = (k.n > 50) / sum_k(k.n > 50)\nserver: w = w + u\n");
        const auto loss = [](const MethodFile& method, const Options& more) {
            FedhiveRun run(small_config(), set(method.options(more)));
            method_ended_well(run);
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("test_loss"));
        };
        CHECK_EQ(loss(two, {}), doctest::Approx(loss(one, {})).epsilon(1e-5));
        const std::string expected = sha_with(alone.options());
        for (const Options& more : std::vector<Options>{{"workers=0"}, {"workers=1"}, {"workers=3"}})
            CHECK(sha_with(beside.options(more)) == expected);
        FedhiveRun resumed(small_config(), set(two.options({"rounds=1"})));
        method_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=3"});
        method_ended_well(resumed);
        CHECK(resumed.manifest()["model_sha256"] == sha_with(two.options()));
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(two.options()));
        method_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == sha_with(two.options()));
    }

    TEST_CASE("ProductsAreOfTheVectorThatTheMethodNames") {
        // d is twice u, so its products are four times the update's.
        const std::string d = "memories: [{name: d, owner: visit, up: true}]\nend: d = 2 * u\n";
        const MethodFile of_update(
            d + "cohort: weight = 4 * dot_k(1) / (1 + 4 * dot_k(1)) / received\nserver: w = w + 0 * d + u\n"),
            of_memory(d + "products_of: d\ncohort: weight = dot_k(1) / (1 + dot_k(1)) / received\nserver: w = w + 0 * d + u\n");
        const std::string expected = sha_with(of_update.options());
        for (const Options& more : std::vector<Options>{{"workers=0"}, {"workers=1"}, {"workers=3"}})
            CHECK(sha_with(of_memory.options(more)) == expected);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(of_memory.options()));
        method_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == expected);
    }

    TEST_CASE("CflSplitsClientsByTheirSidesWithTheSameBitsForAnyWorkers") {
        // Clients see digits from two sides. The bounds split as soon as a round's mean update is shorter than a client's.
        const Options sides =
            Options{"strategy={name: cfl, eps_1: 100, eps_2: 0}", "training.cohort=13", "rounds=4"} + kJudgedOwn;
        const auto outcome = [](FedhiveRun& run) {
            method_ended_well(run);
            return run.manifest()["model_sha256"].get<std::string>() + comparable(run.out() / "clients.csv") +
                   read_text(run.out() / "client_accuracy.csv");
        };
        FedhiveRun alone(small_config(), set(sides + Options{"workers=1"})),
            many(small_config(), set(sides + Options{"workers=3"}));
        const std::string expected = outcome(alone);
        CHECK(outcome(many) == expected);
        std::set<std::string> groups;
        for (const auto& row : read_csv(alone.out() / "clients.csv"))
            if (row.at("round") == "4") groups.insert(row.at("mine"));
        CHECK_EQ(groups.size(), 4);
        check_last_visit_replays(alone);
        FedhiveRun resumed(small_config(), set(sides + Options{"rounds=2"}));
        method_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=4"});
        CHECK(outcome(resumed) == expected);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(sides));
        method_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == alone.manifest()["model_sha256"]);
    }

    TEST_CASE("FedEmHasTheSameBitsForAnyWorkersWithRanksAfterAKillAndAfterAResume") {
        const Options method = Options{"strategy={name: fedem}"} + kJudgedOwn;
        const auto outcome = [](FedhiveRun& run) {
            method_ended_well(run);
            return run.manifest()["model_sha256"].get<std::string>() + read_text(run.out() / "client_accuracy.csv");
        };
        FedhiveRun alone(small_config(), set(method + Options{"workers=1"})),
            none(small_config(), set(method + Options{"workers=0"})),
            killed(small_config(), set(method + Options{"workers=3", "failures={policy: retry}",
                                                        "faults=[{kind: kill, round: 2, client: 3}]"})),
            resumed(small_config(), set(method + Options{"rounds=1"}));
        const std::string expected = outcome(alone);
        CHECK(outcome(none) == expected);
        CHECK(outcome(killed) == expected);
        method_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=3"});
        CHECK(outcome(resumed) == expected);
        check_last_visit_replays(alone);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(method));
        method_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == alone.manifest()["model_sha256"]);
    }
}
