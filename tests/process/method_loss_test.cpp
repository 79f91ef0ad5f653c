// Losses of examples in method files, in whole runs: keys that leave the cross-entropy, both engines, evaluations, replays, and what is refused.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::vector<std::string> kLosses = {"moon",
                                          "fedlc",
                                          "fedrs",
                                          "fedntd",
                                          "fedgkd",
                                          "focal",
                                          "label_smoothing",
                                          "balanced_softmax",
                                          "logit_adjustment",
                                          "class_balanced",
                                          "fedir",
                                          "propfair",
                                          "pfedsd",
                                          "feddecorr"};

Options with_loss(const std::string& name, const std::string& keys = "") {
    const std::string file = (source_folder() / "configs/methods" / (name + ".py")).string();
    return {"strategy={file: " + file + (keys.empty() ? "" : ", " + keys) + "}"};
}

double last_train_loss(const FedhiveRun& run) { return std::stod(read_csv(run.out() / "rounds.csv").back().at("train_loss")); }

void loss_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

}  // namespace

TEST_SUITE("MethodLoss") {
    TEST_CASE("KeysThatTakeATermOutLeaveFedAvgBitForBit") {
        const std::vector<std::pair<std::string, std::string>> neutral{
            {"moon", "mu: 0"},       {"fedlc", "tau: 0"},   {"logit_adjustment", "tau: 0"},
            {"fedrs", "alpha: 1"},   {"fedntd", "beta: 0"}, {"fedgkd", "gamma: 0"},
            {"pfedsd", "lambda: 0"}, {"focal", "gamma: 0"}, {"label_smoothing", "epsilon: 0"},
            {"feddecorr", "beta: 0"}};
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            const std::string plain = sha_with({engine});
            for (const auto& [name, keys] : neutral) {
                CAPTURE(name);
                CHECK(sha_with(with_loss(name, keys) + Options{engine}) == plain);
                CHECK(sha_with(with_loss(name) + Options{engine}) != plain);
            }
        }
    }

    TEST_CASE("BothEnginesTrainByTheSameLoss") {
        for (const std::string& name : kLosses) {
            CAPTURE(name);
            FedhiveRun direct(small_config(), set(with_loss(name))),
                libtorch(small_config(), set(with_loss(name) + Options{"training.engine=libtorch"}));
            loss_ended_well(direct);
            loss_ended_well(libtorch);
            CHECK(direct.manifest()["engine"] == "direct");
            CHECK(libtorch.manifest()["engine"] == "libtorch");
            CHECK(last_train_loss(direct) == doctest::Approx(last_train_loss(libtorch)).epsilon(1e-5));
        }
    }

    TEST_CASE("FocalAndSmoothingAgreeWithTheRunsOwnLosses") {
        for (const auto& [name, own] : std::vector<std::pair<std::string, std::string>>{
                 {"focal", "training.loss={name: focal}"},
                 {"label_smoothing", "training.loss={name: cross_entropy, label_smoothing: 0.1}"}}) {
            CAPTURE(name);
            FedhiveRun by_file(small_config(), set(with_loss(name))), in_cpp(small_config(), set({own}));
            loss_ended_well(by_file);
            loss_ended_well(in_cpp);
            CHECK(last_train_loss(by_file) == doctest::Approx(last_train_loss(in_cpp)).epsilon(1e-5));
        }
    }

    TEST_CASE("ALossOfTheClientsOwnCountsMayShareSlots") {
        CHECK(sha_with(with_loss("fedlc") + Options{"training.clients_per_slot=4"}) == sha_with(with_loss("fedlc")));
        CHECK(sha_with(with_loss("fedlc") + Options{"mode={name: semi_async, quorum: 3}"}) !=
              sha_with({"mode={name: semi_async, quorum: 3}"}));
    }

    TEST_CASE("AnEvaluationAfterAnEpochOfItsOwnTrainsByTheRunsLoss") {
        const Options personal =
            with_loss("moon") + Options{"data.partition.holdout=0.3", "evaluation.clients={every: 1, personalized: true}"};
        FedhiveRun alone(small_config(), set(personal + Options{"workers=1"})),
            three(small_config(), set(personal + Options{"workers=3"}));
        loss_ended_well(alone);
        loss_ended_well(three);
        CHECK(read_text(alone.out() / "fairness.csv").find("personalized") != std::string::npos);
        CHECK(read_text(alone.out() / "fairness.csv") == read_text(three.out() / "fairness.csv"));
    }

    TEST_CASE("AVisitWithALossIsReplayedBitForBit") {
        for (const std::string name : {"moon", "fedlc", "fedntd", "feddecorr"}) {
            CAPTURE(name);
            FedhiveRun run(small_config(), set(with_loss(name)));
            loss_ended_well(run);
            check_last_visit_replays(run);
        }
    }

    TEST_CASE("MoonGivesTheSameBitsOverRanksAndAfterAResume") {
        FEDHIVE_NEEDS_RANKS();
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            const Options moon = with_loss("moon") + Options{engine};
            FedhiveRun whole(small_config(), set(moon + Options{"rounds=4"}));
            loss_ended_well(whole);
            RankedRun ranked(2, small_config(), set(moon + Options{"rounds=2"}));
            loss_ended_well(ranked);
            ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
            loss_ended_well(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        }
    }

    TEST_CASE("WhatNoEngineDoesIsRefused") {
        const auto refused = [](const Options& options, const char* says) {
            FedhiveRun run(small_config(), set(options));
            const std::string ended = run.end();
            CHECK_MESSAGE(ended == "exited with status 2", run.output());
            CHECK_MESSAGE(run.output().find(says) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out() / "rounds.csv"));
        };
        refused(with_loss("moon") + Options{"model={name: lr}"},
                "reads features (z), the input of the last layer with parameters, but the model has only one layer with "
                "parameters");
        refused(with_loss("fedlc") + Options{"training.clients_at_once=4", "training.clients_per_slot=4"},
                "computes losses of its own, but strategy 'fedlc' has a formula for its loss");
        refused(with_loss("fedlc") + Options{"mode={name: gradient_averaging}"}, "formulas of a client's visit");
        // Without its term the method is no loss of its own.
        CHECK(!sha_with(with_loss("moon", "mu: 0") + Options{"model={name: lr}"}).empty());
    }
}
