// Memories that are numbers, the step in a loss, other models in a measure, and answers of strategy.file, in whole runs.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kJudgedOwn{"data.partition.holdout=0.25", "evaluation.clients={every: 1, personalized: true}"};

struct NumberMethod {
    explicit NumberMethod(const std::string& text) { std::ofstream(file()) << text; }
    std::filesystem::path file() const { return folder.path() / "numbers.yaml"; }
    Options options(const Options& more = {}) const { return Options{"strategy={file: " + file().string() + "}"} + more; }
    TemporaryFolder folder;
};

void numbers_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Rows of a run's clients.csv.
std::vector<std::map<std::string, std::string>> clients_with(const NumberMethod& method, const Options& more = {}) {
    FedhiveRun run(small_config(), set(method.options(more)));
    numbers_ended_well(run);
    return read_csv(run.out() / "clients.csv");
}

/// The accuracies of all clients' own models, and their losses.
std::pair<std::string, std::vector<double>> judged_with(const NumberMethod& method) {
    FedhiveRun run(small_config(), set(method.options(kJudgedOwn)));
    numbers_ended_well(run);
    std::pair<std::string, std::vector<double>> all;
    for (const auto& row : read_csv(run.out() / "client_accuracy.csv")) {
        if (row.at("model") != "personalized") continue;
        all.first += row.at("client_id") + " " + row.at("accuracy") + "\n";
        all.second.push_back(std::stod(row.at("loss")));
    }
    REQUIRE(!all.second.empty());
    return all;
}

}  // namespace

TEST_SUITE("NumberMemories") {
    TEST_CASE("ANumberOfTheServerIsAsAVectorOfEqualElementsAndFourBytes") {
        const NumberMethod number(
            "memories: [{name: a, owner: server, shape: number, first: 1}]\ngradient: g * a\nserver: [w = w + u, a = a - "
            "0.25]\n"),
            vector(
                "memories: [{name: b, owner: server, down: true}]\ngradient: g * (1 + b)\nserver: [w = w + u, b = b - 0.25]\n");
        FedhiveRun one(small_config(), set(number.options())), other(small_config(), set(vector.options()));
        numbers_ended_well(one);
        numbers_ended_well(other);
        CHECK(one.manifest()["model_sha256"] == other.manifest()["model_sha256"]);
        CHECK(one.manifest()["model_sha256"] != sha_with({}));
        FedhiveRun plain(small_config(), set({}));
        numbers_ended_well(plain);
        const auto bytes = [](const FedhiveRun& run, const char* column) {
            return std::stoll(read_csv(run.out() / "rounds.csv").back().at(column));
        };
        CHECK_EQ(bytes(one, "bytes_down") - bytes(plain, "bytes_down"), 4 * 11);
        CHECK_EQ(bytes(one, "bytes_up"), bytes(plain, "bytes_up"));
    }

    TEST_CASE("ANumberOfAClientBeginsAsItsKeysSayAndCountsItsVisits") {
        const NumberMethod method(
            "keys: [{name: from, default: 5}]\nmemories: [{name: seen, owner: client, shape: number, first: from * 2}]\n"
            "reports: [{name: before}]\nend: [seen = seen + 1, before = seen]\n");
        std::map<std::string, double> visits;
        for (const auto& row : clients_with(method, {"strategy.from=7", "rounds=4"}))
            CHECK_EQ(std::stod(row.at("before")), 14.0 + visits[row.at("client_id")]++);
        CHECK(visits.size() > 2);
    }

    TEST_CASE("ANumberThatTheServerMixesIsTheClientsOwn") {
        const NumberMethod method(
            "memories: [{name: last, owner: client, shape: number, first: -1}]\nreports: [{name: told}]\nend: told = last\n"
            "peers: [weight = k.me, mine = sum_k(k.me * k.id)]\nmix: last = mine\n");
        for (const Options& more : std::vector<Options>{{"workers=1"}, {"workers=3"}}) {
            std::map<std::string, int> visits;
            for (const auto& row : clients_with(method, more + Options{"rounds=4"}))
                CHECK_EQ(std::stod(row.at("told")), visits[row.at("client_id")]++ == 0 ? -1.0 : std::stod(row.at("client_id")));
        }
    }

    TEST_CASE("AMeasureSumsOverAllExamplesAndLooksAtOtherModels") {
        const std::string measures =
            "memories: [{name: all, owner: client, shape: number}, {name: moved, owner: client, shape: number}]\n"
            "reports: [{name: examples}, {name: apart}]\nalso_at: {sent: w_t}\nend: [examples = all, apart = moved]\n"
            "measure: [all = sum(softmax(logits)), moved = sum(abs(logits - sent.logits))]\nmix: all = all\n";
        const std::string without_mix = measures.substr(0, measures.find("mix:"));
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            for (const auto& row : clients_with(NumberMethod(without_mix + "gradient: g\n"), {engine})) {
                CHECK_EQ(std::stod(row.at("examples")), doctest::Approx(std::stod(row.at("num_examples"))).epsilon(1e-4));
                CHECK(std::stod(row.at("apart")) > 0.01);
            }
            for (const auto& row : clients_with(NumberMethod(without_mix + "gradient: g * 0\n"), {engine}))
                CHECK_EQ(std::stod(row.at("apart")), 0.0);
        }
    }

    TEST_CASE("ALossThatReadsTheStepIsThatOfTheGradientWhichDoes") {
        const std::string loss = "loss: cross_entropy(logits, y) * maximum(1, n < 0)\n";
        const NumberMethod by_loss("loss: cross_entropy(logits, y) * (step < steps - 1)\n"),
            by_gradient(loss + "gradient: g * (step < steps - 1)\n"), plain(loss);
        const Options steps{"training.local_epochs=2"};
        const std::string expected = sha_with(by_gradient.options(steps));
        CHECK(sha_with(by_loss.options(steps)) == expected);
        CHECK(sha_with(plain.options(steps)) != expected);
    }

    TEST_CASE("AnAnswerIsJudgedInPlaceOfItsModelsLogits") {
        const std::string own = "memories: [{name: own, owner: client, first: w_t}]\nend: own = w\n";
        const NumberMethod by_judge(own + "judge: own\n"), by_answer(own + "also_at: {mine: own}\nanswer: mine.logits\n"),
            same(own + "judge: own\nanswer: 2 * logits\n"), worst(own + "judge: own\nanswer: -logits\n");
        const auto judged = judged_with(by_judge), answered = judged_with(by_answer);
        CHECK(answered.first == judged.first);
        for (std::size_t i = 0; i < judged.second.size(); ++i)
            CHECK_EQ(answered.second[i], doctest::Approx(judged.second[i]).epsilon(1e-5));
        CHECK(judged_with(same).first == judged.first);
        CHECK(judged_with(same).second != answered.second);
        CHECK(judged_with(worst).first != judged.first);
    }

    TEST_CASE("AMeasureAtOtherModelsLeavesTheTrainedOne") {
        const std::string head =
            "also_at: {sent: w_t}\nmemories: [{name: m, owner: client, shape: number}]\nreports: [{name: told}]\nend: told = "
            "m\n";
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"})
            CHECK(sha_with(NumberMethod(head + "measure: m = sum(logits - sent.logits)\n").options({engine})) ==
                  sha_with({engine}));
    }

    TEST_CASE("AModelIsChangedBehindAStep") {
        const NumberMethod none("after: w\n"), halved("after: w_t + (w - w_t) / 2\n"), slower("gradient: g / 2\n"),
            counted(
                "memories: [{name: n_steps, owner: visit}]\nreports: [{name: told}]\nafter: [w = w, n_steps = n_steps + 1]\n"
                "end: told = mean(n_steps) - steps\n");
        const Options one_step{"training.local_steps=1", "training.local_epochs=null",
                               "training.optimizer={name: sgd, lr: 0.125}"};
        CHECK(sha_with(none.options()) == sha_with({}));
        CHECK(sha_with(halved.options()) != sha_with({}));
        for (const auto& row : clients_with(counted)) CHECK_EQ(std::stod(row.at("told")), 0.0);
        // Half of one step is a step of half the gradient, but for what rounds: (w + d) - w is not d.
        FedhiveRun one(small_config(), set(halved.options(one_step))), other(small_config(), set(slower.options(one_step)));
        numbers_ended_well(one);
        numbers_ended_well(other);
        const auto loss = [](const FedhiveRun& run) {
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("test_loss"));
        };
        CHECK_EQ(loss(one), doctest::Approx(loss(other)).epsilon(1e-5));
    }

    TEST_CASE("SumsBySeveralWeightsAreThoseOfMethodsWithOneEach") {
        const NumberMethod one("cohort: weight = k.n / sum_k(k.n)\nserver: w = w + u\n"),
            two("cohort: [weight = k.n * (k.n > 50), by_2 = k.n * (k.n <= 50) * (k.n > 30), by_3 = k.n * (k.n <= 30), all = "
                "sum_k(k.n)]\n"
                "server: w = w + (u + by_2.u + by_3.u) / all\n"),
            beside("cohort: by_2 = (k.n > 50) / sum_k(k.n > 50)\nserver: w = w + 0 * u + by_2.u\n"),
            alone("cohort: weight = (k.n > 50) / sum_k(k.n > 50)\nserver: w = w + u\n");
        const auto loss = [](const NumberMethod& method, const Options& more) {
            FedhiveRun run(small_config(), set(method.options(more)));
            numbers_ended_well(run);
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("test_loss"));
        };
        CHECK_EQ(loss(two, {}), doctest::Approx(loss(one, {})).epsilon(1e-5));
        const std::string expected = sha_with(alone.options());
        for (const Options& more : std::vector<Options>{{"workers=0"}, {"workers=1"}, {"workers=3"}})
            CHECK(sha_with(beside.options(more)) == expected);
        FedhiveRun resumed(small_config(), set(two.options({"rounds=1"})));
        numbers_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=3"});
        numbers_ended_well(resumed);
        CHECK(resumed.manifest()["model_sha256"] == sha_with(two.options()));
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(two.options()));
        numbers_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == sha_with(two.options()));
    }

    TEST_CASE("ProductsAreOfTheVectorThatTheMethodNames") {
        // d is twice u, so its products are four times the update's.
        const std::string d = "memories: [{name: d, owner: visit, up: true}]\nend: d = 2 * u\n";
        const NumberMethod of_update(
            d + "cohort: weight = 4 * dot_k(1) / (1 + 4 * dot_k(1)) / received\nserver: w = w + 0 * d + u\n"),
            of_memory(d + "products_of: d\ncohort: weight = dot_k(1) / (1 + dot_k(1)) / received\nserver: w = w + 0 * d + u\n");
        const std::string expected = sha_with(of_update.options());
        for (const Options& more : std::vector<Options>{{"workers=0"}, {"workers=1"}, {"workers=3"}})
            CHECK(sha_with(of_memory.options(more)) == expected);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(of_memory.options()));
        numbers_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == expected);
    }

    TEST_CASE("CflSplitsClientsByTheirSidesWithTheSameBitsForAnyWorkers") {
        // Clients see digits from two sides. The bounds split as soon as a round's mean update is shorter than a client's.
        const Options sides =
            Options{"strategy={name: cfl, eps_1: 100, eps_2: 0}", "training.cohort=13", "rounds=4"} + kJudgedOwn;
        const auto outcome = [](FedhiveRun& run) {
            numbers_ended_well(run);
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
        numbers_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=4"});
        CHECK(outcome(resumed) == expected);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(sides));
        numbers_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == alone.manifest()["model_sha256"]);
    }

    TEST_CASE("FedEmHasTheSameBitsForAnyWorkersWithRanksAfterAKillAndAfterAResume") {
        const Options method = Options{"strategy={name: fedem}"} + kJudgedOwn;
        const auto outcome = [](FedhiveRun& run) {
            numbers_ended_well(run);
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
        numbers_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=3"});
        CHECK(outcome(resumed) == expected);
        check_last_visit_replays(alone);
        if (!why_no_ranks().empty()) return;
        RankedRun ranked(2, small_config(), set(method));
        numbers_ended_well(ranked);
        CHECK(ranked.manifest()["model_sha256"] == alone.manifest()["model_sha256"]);
    }

    TEST_CASE("WhatIsNoNumberIsRefusedBeforeTheRun") {
        for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
                 {"memories:\n - {name: a, owner: visit, up: true, shape: number}\ngradient: g\n",
                  "numbers.yaml:2: memory 'a': a number of a visit is a report; allowed with shape: number: server, client"},
                 {"memories:\n - {name: a, owner: client, shape: number, first: w_t}\ngradient: g\n",
                  "numbers.yaml:2: memory 'a': first: 'w_t'; a number begins as a formula of keys"},
                 {"memories: [{name: a, owner: client, shape: number}]\ngradient: [g = g, a = 1]\n",
                  "numbers.yaml:2: gradient: "},
                 {"memories: [{name: a, owner: client, shape: number}]\nend: a = w\n", "numbers.yaml:2: end: "},
                 {"memories: [{name: a, owner: client, shape: number}]\nstart: a\njudge: w_t\n",
                  "numbers.yaml:1: memory 'a' is never set; `end` must have a formula 'a = …'"},
                 {"answer: sum(logits)\n", "numbers.yaml:1: answer: "},
                 {"answer: cross_entropy(logits, y) * logits\n", "numbers.yaml:1: answer: 'y' has no value here"},
                 {"cohort: by_3 = k.n\nserver: w = w + u\n", "numbers.yaml:1: cohort: sets 'by_3', but not 'by_2'"},
                 {"products_of: u\ngradient: g\n",
                  "numbers.yaml:1: products_of: 'u' is no memory of the model's shape that comes up"},
                 {"also_at: {sent: w_t}\nanswer: logits\n", "numbers.yaml:1: also_at: 'sent' is never read"}}) {
            CAPTURE(text);
            const NumberMethod method(text);
            FedhiveRun run(small_config(), set(method.options()));
            CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
            CHECK_MESSAGE(run.output().find(says) != std::string::npos, run.output());
        }
        FedhiveRun at_once(small_config(), set({"strategy={name: fedem}", "training.clients_per_slot=4"}));
        CHECK_MESSAGE(at_once.end() == "exited with status 2", at_once.output());
    }
}
