// Memories that are numbers, the step in a loss, other models in a measure, and formulas behind a step, in whole runs.
#include "tests/process/method_files.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("NumberMemories") {
    TEST_CASE("ANumberOfTheServerIsAsAVectorOfEqualElementsAndFourBytes") {
        const MethodFile number(
            "memories: [{name: a, owner: server, shape: number, first: 1}]\ngradient: g * a\nserver: [w = w + u, a = a - "
            "0.25]\n"),
            vector(
                "memories: [{name: b, owner: server, down: true}]\ngradient: g * (1 + b)\nserver: [w = w + u, b = b - 0.25]\n");
        FedhiveRun one(small_config(), set(number.options())), other(small_config(), set(vector.options()));
        method_ended_well(one);
        method_ended_well(other);
        CHECK(one.manifest()["model_sha256"] == other.manifest()["model_sha256"]);
        CHECK(one.manifest()["model_sha256"] != sha_with({}));
        FedhiveRun plain(small_config(), set({}));
        method_ended_well(plain);
        const auto bytes = [](const FedhiveRun& run, const char* column) {
            return std::stoll(read_csv(run.out() / "rounds.csv").back().at(column));
        };
        CHECK_EQ(bytes(one, "bytes_down") - bytes(plain, "bytes_down"), 4 * 11);
        CHECK_EQ(bytes(one, "bytes_up"), bytes(plain, "bytes_up"));
    }

    TEST_CASE("ANumberOfAClientBeginsAsItsKeysSayAndCountsItsVisits") {
        const MethodFile method(
            "keys: [{name: from, default: 5}]\nmemories: [{name: seen, owner: client, shape: number, first: from * 2}]\n"
            "reports: [{name: before}]\nend: [seen = seen + 1, before = seen]\n");
        std::map<std::string, double> visits;
        for (const auto& row : clients_with(method, {"strategy.from=7", "rounds=4"}))
            CHECK_EQ(std::stod(row.at("before")), 14.0 + visits[row.at("client_id")]++);
        CHECK(visits.size() > 2);
    }

    TEST_CASE("ANumberThatTheServerMixesIsTheClientsOwn") {
        const MethodFile method(
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
            for (const auto& row : clients_with(MethodFile(without_mix + "gradient: g\n"), {engine})) {
                CHECK_EQ(std::stod(row.at("examples")), doctest::Approx(std::stod(row.at("num_examples"))).epsilon(1e-4));
                CHECK(std::stod(row.at("apart")) > 0.01);
            }
            for (const auto& row : clients_with(MethodFile(without_mix + "gradient: g * 0\n"), {engine}))
                CHECK_EQ(std::stod(row.at("apart")), 0.0);
        }
    }

    TEST_CASE("ALossThatReadsTheStepIsThatOfTheGradientWhichDoes") {
        const std::string loss = "loss: cross_entropy(logits, y) * maximum(1, n < 0)\n";
        const MethodFile by_loss("loss: cross_entropy(logits, y) * (step < steps - 1)\n"),
            by_gradient(loss + "gradient: g * (step < steps - 1)\n"), plain(loss);
        const Options steps{"training.local_epochs=2"};
        const std::string expected = sha_with(by_gradient.options(steps));
        CHECK(sha_with(by_loss.options(steps)) == expected);
        CHECK(sha_with(plain.options(steps)) != expected);
    }

    TEST_CASE("AMeasureAtOtherModelsLeavesTheTrainedOne") {
        const std::string head =
            "also_at: {sent: w_t}\nmemories: [{name: m, owner: client, shape: number}]\nreports: [{name: told}]\nend: told = "
            "m\n";
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"})
            CHECK(sha_with(MethodFile(head + "measure: m = sum(logits - sent.logits)\n").options({engine})) ==
                  sha_with({engine}));
    }

    TEST_CASE("AModelIsChangedBehindAStep") {
        const MethodFile none("after: w\n"), halved("after: w_t + (w - w_t) / 2\n"), slower("gradient: g / 2\n"),
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
        method_ended_well(one);
        method_ended_well(other);
        const auto loss = [](const FedhiveRun& run) {
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("test_loss"));
        };
        CHECK_EQ(loss(one), doctest::Approx(loss(other)).epsilon(1e-5));
    }

    TEST_CASE("WhatIsNoNumberIsRefusedBeforeTheRun") {
        for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
                 {"memories:\n - {name: a, owner: visit, up: true, shape: number}\ngradient: g\n",
                  "method.yaml:2: memory 'a': a number that a visit sends is a report; allowed with shape: number: server, "
                  "client"},
                 {"memories:\n - {name: a, owner: client, shape: number, first: w_t}\ngradient: g\n",
                  "method.yaml:2: memory 'a': first: 'w_t'; with shape: number, allowed: a number, or a formula of keys"},
                 {"memories: [{name: a, owner: client, shape: number}]\ngradient: [g = g, a = 1]\n",
                  "method.yaml:2: gradient: "},
                 {"memories: [{name: a, owner: client, shape: number}]\nend: a = w\n", "method.yaml:2: end: "},
                 {"memories: [{name: a, owner: client, shape: number}]\nstart: a\njudge: w_t\n",
                  "method.yaml:1: memory 'a' is never set; `end` must have a formula 'a = …'"},
                 {"answer: sum(logits)\n", "method.yaml:1: answer: "},
                 {"answer: cross_entropy(logits, y) * logits\n", "method.yaml:1: answer: 'y' has no value here"},
                 {"cohort: by_3 = k.n\nserver: w = w + u\n", "method.yaml:1: cohort: sets 'by_3', but not 'by_2'"},
                 {"products_of: u\ngradient: g\n",
                  "method.yaml:1: products_of: 'u' is not a memory of the model's shape with up: true"},
                 {"also_at: {sent: w_t}\nanswer: logits\n", "method.yaml:1: also_at: 'sent' is never read"}}) {
            CAPTURE(text);
            const MethodFile method(text);
            FedhiveRun run(small_config(), set(method.options()));
            CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
            CHECK_MESSAGE(run.output().find(says) != std::string::npos, run.output());
        }
        FedhiveRun at_once(small_config(), set({"strategy={name: fedem}", "training.clients_per_slot=4"}));
        CHECK_MESSAGE(at_once.end() == "exited with status 2", at_once.output());
    }
}
