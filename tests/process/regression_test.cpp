// Regression: a run from its config to its tables, the same for any number of workers, compared by its error.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

using RowOfTable = std::map<std::string, std::string>;

/// Two numbers linear in four features, with noise of variance 1/64.
const Options kLinear{
    "task=regression",
    "data={format: synthetic_linear, num_train: 400, num_test: 100, num_features: 4, num_targets: 2, noise: 0.125, "
    "partition: {scheme: lognormal_sizes, clients: 8}}",
    "model={name: linear_regression}", "training={cohort: 6, batch_size: 8, optimizer: {name: sgd, lr: 0.1}}"};

double last(const FedhiveRun& run, const char* column) {
    return std::stod(read_csv(run.out() / "rounds.csv").back().at(column));
}

void refused(const Options& more, const std::string& text) {
    FedhiveRun run(small_config(), set(more));
    CHECK(run.end() == "exited with status 2");
    CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("RegressionRun") {
    TEST_CASE("ErrorFallsToThatOfTheNoiseWithTheSameBitsForAnyNumberOfWorkers") {
        FedhiveRun run(small_config(), set(kLinear + Options{"rounds=12"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const std::string head = read_lines(run.out() / "rounds.csv").front();
        CHECK(head.find(",test_loss,test_mse,test_mae,bytes_down,") != std::string::npos);
        CHECK(head.find("accuracy") == std::string::npos);
        CHECK(last(run, "test_mse") == last(run, "test_loss"));
        CHECK(last(run, "test_mse") < 0.02);  // 0.0156 is the noise; it begins at 2
        CHECK(last(run, "test_mae") < 0.12);  // 0.0997 is the noise's
        CHECK(run.manifest()["test_mse"] == last(run, "test_mse"));
        CHECK(run.manifest()["task"] == "regression");
        for (const char* text :
             {"run         small · regression · fedavg", "test examples of f32 · 2 numbers each\n", " MSE ", "test MSE 0.01"})
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
        CHECK(read_lines(run.out() / "partition.csv").front() == "client_id,num_examples,held_out");
        const std::string two = run.manifest()["model_sha256"];
        for (const char* workers : {"workers=0", "workers=3"}) CHECK(sha_with(kLinear + Options{"rounds=12", workers}) == two);
    }

    TEST_CASE("EitherEngineComesToTheSameNumbersUpToRounding") {
        const Options wide = kLinear + Options{"model={name: mlp, hidden: 8}", "rounds=4"};
        FedhiveRun direct(small_config(), set(wide)), libtorch(small_config(), set(wide + Options{"training.engine=libtorch"}));
        REQUIRE_MESSAGE(direct.end() == "exited with status 0", direct.output());
        REQUIRE_MESSAGE(libtorch.end() == "exited with status 0", libtorch.output());
        CHECK(direct.manifest()["engine"] == "direct");
        CHECK(direct.manifest()["model_sha256"] != libtorch.manifest()["model_sha256"]);
        for (const char* column : {"train_loss", "test_mse", "test_mae"})
            CHECK(last(direct, column) == doctest::Approx(last(libtorch, column)).epsilon(1e-4));
    }

    TEST_CASE("ManyClientsAtOnceAndOtherModesReachTheSameError") {
        for (const Options& more :
             {Options{"training.clients_at_once=4", "rounds=12"},
              {"mode={name: async}", "rounds=70"},
              {"mode={name: gradient_averaging}", "data.partition={scheme: iid, clients: 2}", "training.cohort=2", "rounds=12"},
              {"strategy={name: scaffold}", "rounds=20"}}) {
            FedhiveRun run(small_config(), set(kLinear + more));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK_MESSAGE(last(run, "test_mse") < 0.05, more.front());
        }
    }

    TEST_CASE("StopsAtAnErrorGoesOnWhereItStoppedAndIsEvaluatedAlike") {
        Finished run(set(kLinear + Options{"rounds=30", "stop.test_mse=0.05"}));
        const std::size_t stopped = run.rounds();
        CHECK(stopped < 30);
        CHECK(last(run, "test_mse") <= 0.05);
        CHECK(run.resume({}) == "exited with status 0");
        CHECK(run.said("by stop.test_mse, which --set stop.test_mse=null takes away"));
        CHECK(run.resume(set({"stop.test_mse=null", "rounds=12"})) == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_with(kLinear + Options{"rounds=12"}));
        std::filesystem::remove(run.folder() / "output");
        run.start({"evaluate", run.out().string()});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.said(fmt::format("test_mse {}\ntest_mae {}\n", last(run, "test_mse"), last(run, "test_mae"))));
    }

    TEST_CASE("ClientsWithTheLargestErrorsAreTheWorst") {
        FedhiveRun run(small_config(), set(kLinear + Options{"data.partition.holdout=0.2",
                                                             "evaluation.clients={every: 3, personalized: true}"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK_FALSE(std::filesystem::exists(run.out() / "client_accuracy.csv"));
        double sum = 0.0, most = 0.0;
        std::size_t clients = 0;
        for (const RowOfTable& row : read_csv(run.out() / "client_mse.csv")) {
            if (row.at("model") != "global") continue;
            CHECK(row.at("mse") == row.at("loss"));
            sum += std::stod(row.at("mse"));
            most = std::max(most, std::stod(row.at("mse")));
            ++clients;
        }
        const RowOfTable fairness = read_csv(run.out() / "fairness.csv").front();
        CHECK(clients == 8);
        CHECK(std::stod(fairness.at("mse_mean")) == doctest::Approx(sum / 8));
        CHECK(std::stod(fairness.at("mse_worst_10")) == most);
        CHECK(std::stod(fairness.at("mse_best_10")) < std::stod(fairness.at("mse_p10")));
    }

    TEST_CASE("SweepComparesByTheErrorAndKeepsTheSmallest") {
        FedhiveRun sweep;
        std::string base = "device: cpu\nrounds: 12\n";
        for (const std::string& one : kLinear)
            base += fmt::format("{}: {}\n", one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
        std::ofstream(sweep.folder() / "base.yaml") << base;
        std::string text =
            "base: base.yaml\ntarget_mse: 0.1\nearly_stopping: {rule: halving, first_round: 2, factor: 3}\n"
            "grid: {training.optimizer.lr: [0.1, 0.0001, 0.001]}\n";
        std::ofstream(sweep.folder() / "sweep.yaml") << text;
        sweep.start({"sweep", (sweep.folder() / "sweep.yaml").string(), "--out", sweep.out().string()});
        REQUIRE_MESSAGE(sweep.end() == "exited with status 0", sweep.output());
        for (const RowOfTable& row : read_csv(sweep.out() / "summary.csv")) {
            const bool best = row.at("run") == "lr-0.1";
            CHECK_MESSAGE(row.at("status") == (best ? "finished" : "stopped"), row.at("run"));
            CHECK(row.at("final_test_mse") == row.at("final_test_loss"));
            CHECK(row.at("rounds_to_target").empty() != best);
            CHECK(std::stod(row.at("best_test_mse")) <= std::stod(row.at("final_test_mse")));
        }
        const std::string summary = read_text(sweep.out() / "summary.md");
        CHECK_MESSAGE(summary.find("| final MSE | best MSE | final loss | rounds to 0.1 |") != std::string::npos, summary);
        CHECK_MESSAGE(sweep.output().find("MSE 0.0") != std::string::npos, sweep.output());
        text.replace(text.find("target_mse"), 10, "target_accuracy");
        std::ofstream(sweep.folder() / "sweep.yaml") << text;
        std::filesystem::remove(sweep.folder() / "output");
        sweep.start({"sweep", (sweep.folder() / "sweep.yaml").string(), "--dry-run"});
        CHECK(sweep.end() == "exited with status 2");
        CHECK_MESSAGE(sweep.output().find("sweep.yaml:2: target_accuracy: ") != std::string::npos, sweep.output());
        CHECK_MESSAGE(sweep.output().find("allowed: target_mse, target_mae") != std::string::npos, sweep.output());
    }

    TEST_CASE("WhatDoesNotGoTogetherIsRefusedWithBothNames") {
        refused({"task=regression"}, "task:");
        refused({"task=next_token"}, "task:");
        refused(kLinear + Options{"task=classification", "model={name: lr}"}, "task:");
        refused(kLinear + Options{"model={name: lr}"}, "model.name:");
        refused({"model={name: linear_regression}"}, "model.name:");
        refused(kLinear + Options{"model={layers: [flatten, {linear: 3}]}"}, "model.layers[1]:");
        refused(kLinear + Options{"data.partition={scheme: dirichlet, clients: 8}"}, "data.partition.scheme:");
        refused(kLinear + Options{"model={name: mlp}", "mode={name: split, cut: fc1}"}, "mode.name: in mode 'split'");
        refused(kLinear + Options{"stop.test_accuracy=0.5"}, "stop.test_accuracy: ");
    }
}
