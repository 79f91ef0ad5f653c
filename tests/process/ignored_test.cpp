// Targets of -100 in the real program: rounds, metrics and files as without them, except that a client's weight counts them.
#include "aggregation/base/random.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// CSV tables of 60 training and 40 test rows of five owners. Every sixth training target is -100; every eighth test row has
/// the target -100, or is left out.
class Tables {
public:
    explicit Tables(bool with_ignored_test_rows) {
        for (const auto& [part, rows] : {std::pair("train", 60), std::pair("test", 40)}) {
            std::string table = "a,b,y,who\n";
            Stream stream(3, Purpose::TrainData, rows);
            for (int i = 0; i < rows; ++i) {
                const int label = i % 3;
                const bool ignored = part == std::string("train") ? i % 6 == 5 : i % 8 == 3;
                const double a = label + 0.5 * stream.normal(), b = 2 - label + 0.5 * stream.normal();
                if (ignored && part == std::string("test") && !with_ignored_test_rows) continue;
                table += fmt::format("{},{},{},{}\n", a, b, ignored ? -100 : label, i % 5);
            }
            clients::write_content(folder_.path() / (std::string(part) + ".csv"), table);
        }
    }
    Options data(const std::string& more = "partition: {scheme: natural, clients: 5}") const {
        return {fmt::format("data={{format: csv, train: {0}/train.csv, test: {0}/test.csv, target: y, client: who, {1}}}",
                            folder_.path().string(), more),
                "training.cohort=5", "rounds=4", "training.local_epochs=8", "training.optimizer={name: sgd, lr: 0.2}"};
    }

private:
    TemporaryFolder folder_;
};

void check_ignored_refused(const Options& options, const std::string& text) {
    FedhiveRun run(small_config(), set(options));
    CHECK(run.end() == "exited with status 2");
    CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
}

}  // namespace

TEST_SUITE("IgnoredRun") {
    TEST_CASE("MetricsAreThoseOfTheTestExamplesThatCountWhoeverTrains") {
        const Tables with(true), without(false);
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            FedhiveRun one(small_config(), set(with.data() + Options{engine}));
            FedhiveRun other(small_config(), set(without.data() + Options{engine, "workers=0"}));
            REQUIRE_MESSAGE(one.end() == "exited with status 0", one.output());
            REQUIRE_MESSAGE(other.end() == "exited with status 0", other.output());
            CHECK(one.output().find("3 classes (16.7 % of the training targets are -100 and ignored)") != std::string::npos);
            const auto first = one.manifest(), second = other.manifest();
            CHECK(first["model_sha256"] == second["model_sha256"]);
            CHECK(first["test_accuracy"].get<double>() ==
                  doctest::Approx(second["test_accuracy"].get<double>()).epsilon(1e-12));
            CHECK(first["test_loss"].get<double>() == doctest::Approx(second["test_loss"].get<double>()).epsilon(1e-6));
            CHECK(first["test_accuracy"] > 0.5);
        }
    }

    TEST_CASE("LabelsAreCountedWithoutThemAndTheWeightIsOfAllExamples") {
        const Tables tables(true);
        FedhiveRun run(small_config(), set(tables.data()));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto partition = read_lines(run.out() / "partition.csv");
        REQUIRE(partition.size() == 6);
        CHECK(partition[1] == "0,12,4,4,2,0,0");  // two of twelve, of label 2, are ignored; the last 0 is the owner
        const auto clients = read_lines(run.out() / "clients.csv");
        CHECK(clients[1].find(",12,") != std::string::npos);
    }

    TEST_CASE("OwnExamplesAreJudgedByThoseThatCountInTheSameBitsForAnyWorkers") {
        const Tables tables(true);
        const Options options = tables.data("partition: {scheme: natural, clients: 5, holdout: 0.3}") +
                                Options{"evaluation.clients={every: 2, personalized: true}"};
        FedhiveRun one(small_config(), set(options)), other(small_config(), set(options + Options{"workers=0"}));
        REQUIRE_MESSAGE(one.end() == "exited with status 0", one.output());
        REQUIRE(other.end() == "exited with status 0");
        for (const char* file : {"fairness.csv", "client_accuracy.csv"}) {
            const std::string text = read_text(one.out() / file);
            CHECK(text == read_text(other.out() / file));
            CHECK(text.find("nan") == std::string::npos);
        }
    }

    TEST_CASE("WhatNeedsAClassOfEachExampleIsRefused") {
        const Tables tables(true);
        check_ignored_refused(tables.data("partition: {scheme: dirichlet, clients: 5, alpha: 1.0}"), "data.partition.scheme:");
    }

    TEST_CASE("TokensThatPadAreLeftOutOfLossAndPerplexity") {
        const TemporaryFolder folder;
        // The target of a token is the next one; the second half of each window is padding, with token 0.
        const auto archive = [&](const char* name, std::size_t rows, std::int64_t padding) {
            std::vector<std::int64_t> x, y;
            for (std::size_t row = 0; row < rows; ++row)
                for (std::size_t at = 0; at < 6; ++at) {
                    x.push_back(at < 3 ? static_cast<std::int64_t>((row + at) % 5) : 0);
                    y.push_back(at < 3 ? static_cast<std::int64_t>((row + at + 1) % 5) : padding);
                }
            const std::string shape = fmt::format("({}, 6)", rows);
            clients::write_npz(folder.path() / name, {{"x", clients::npy("<i8", shape, clients::raw(x))},
                                                      {"y", clients::npy("<i8", shape, clients::raw(y))}});
        };
        archive("train.npz", 60, -100);
        archive("test.npz", 20, -100);
        const Options options{
            fmt::format("data={{format: npz, train: {0}/train.npz, test: {0}/test.npz, values: tokens, partition: "
                        "{{scheme: iid, clients: 4}}}}",
                        folder.path().string()),
            "task=next_token",
            "model={layers: [{embedding: 8}, {linear: 16}, tanh, linear]}",
            "training.cohort=4",
            "training.optimizer={lr: 1.0}",
            "rounds=6",
            "training.local_epochs=4"};
        FedhiveRun run(small_config(), set(options));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK_MESSAGE(run.output().find("5 classes at each position (50.0 % of the training targets are -100 and ignored)") !=
                          std::string::npos,
                      run.output());
        const auto manifest = run.manifest();
        CHECK(manifest["test_accuracy"] == 1.0);  // over the counted targets
        CHECK(manifest["test_perplexity"].get<double>() == doctest::Approx(std::exp(manifest["test_loss"].get<double>())));
        CHECK(manifest["test_perplexity"] < 1.5);
        CHECK(sha_with(options + Options{"workers=0"}) == manifest["model_sha256"]);
        FedhiveRun at_once(small_config(), set(options + Options{"training.clients_at_once=4"}));
        REQUIRE_MESSAGE(at_once.end() == "exited with status 0", at_once.output());
        CHECK(at_once.manifest()["test_loss"].get<double>() ==
              doctest::Approx(manifest["test_loss"].get<double>()).epsilon(1e-3));
    }
}
