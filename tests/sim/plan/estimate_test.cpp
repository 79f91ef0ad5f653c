#include "sim/plan/estimate.h"
#include "sim/config/load_config.h"

#include "clients/trainers/libtorch_info.h"
#include "sim/plan/experiment.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

struct Configs {
    testing::TemporaryFolder folder;
    std::vector<LoadedConfig> configs;

    void add(const std::vector<std::string>& overrides) {
        std::ofstream(folder.path() / "run.yaml") << R"(
rounds: 2
device: cpu
data: {format: synthetic, num_train: 2000, num_test: 200, num_classes: 5, num_features: 16, partition: {scheme: iid, clients: 10}}
model: {name: mlp, hidden: 64}
training: {cohort: 10, batch_size: 16}
)";
        configs.push_back(load_config(folder.path() / "run.yaml", overrides));
    }
};

}  // namespace

TEST_SUITE("Estimate") {
    TEST_CASE("RunsThatDifferInNothingThatCostsTimeAreTriedOnce") {
        Configs runs;
        runs.add({"seed=1"});
        runs.add({"seed=2", "training.optimizer.lr=0.5", "workers=7"});
        runs.add({"model.hidden=300"});
        const Estimates found = estimate(runs.configs);
        CHECK(found.tried == 2);
        REQUIRE(found.runs.size() == 3);
        CHECK(found.runs[0].core_seconds == found.runs[1].core_seconds);
        CHECK(found.runs[2].host_bytes > found.runs[0].host_bytes);
    }

    TEST_CASE("WhatClientsKeepIsCountedOnceForEachThatMayBeSeen") {
        Configs runs;
        const std::vector<std::string> scaffold{"strategy={name: scaffold}", "model.hidden=300", "training.cohort=1",
                                                "workers=1"};
        for (const char* rounds : {"rounds=2", "rounds=7", "rounds=70"}) {
            std::vector<std::string> overrides = scaffold;
            overrides.emplace_back(rounds);
            runs.add(overrides);
        }
        const Estimates found = estimate(runs.configs);
        // Layers of 16 x 300, 300 x 300 and 300 x 5 with biases, in whole pages; all ten clients keep a state.
        const std::uint64_t each = 389'120;
        CHECK(found.runs[1].host_bytes - found.runs[0].host_bytes == 5 * each);
        CHECK(found.runs[2].host_bytes - found.runs[1].host_bytes == 3 * each);
        runs.add({"model.hidden=300", "training.cohort=1", "workers=1", "rounds=2"});
        CHECK(estimate(runs.configs).runs[3].host_bytes + 2 * each <= found.runs[0].host_bytes);
    }

    TEST_CASE("TimeGrowsWithRoundsAndShrinksWithTheCohort") {
        Configs runs;
        runs.add({"rounds=200"});
        runs.add({"rounds=2000"});
        runs.add({"rounds=2000", "training.cohort=1", "evaluation.every=2000"});
        const Estimates found = estimate(runs.configs);
        // The number of steps is the same; the estimate adds less than a second for the start.
        CHECK(found.runs[1].core_seconds > 4.0 * found.runs[0].core_seconds - 4.0);
        CHECK(found.runs[2].core_seconds < 0.5 * found.runs[1].core_seconds);
    }

    TEST_CASE("TestExamplesWithATriggerAreCountedInTimeAndMemory") {
        Configs runs;
        const std::vector<std::string> images{"data={format: glyphs, partition: {clients: 4}}",
                                              "model={name: mlp, hidden: 300}",
                                              "workers=1",
                                              "rounds=500",
                                              "training.cohort=1",
                                              "training.local_epochs=null",
                                              "training.local_steps=1"};
        runs.add(images);
        runs.add(images);
        runs.configs.back() = [&] {
            std::vector<std::string> poisoned = images;
            poisoned.emplace_back("data.poison={name: trigger, share: 0.25, examples: 0.5}");
            return load_config(runs.folder.path() / "run.yaml", poisoned);
        }();
        const Estimates found = estimate(runs.configs);
        // About nine tenths of the test examples get a copy, each of 28 · 28 bytes and a label.
        const std::uint64_t tests = Experiment::to_inspect(runs.configs[0]).data.dataset.map().num_test;
        CHECK(found.runs[1].host_bytes > found.runs[0].host_bytes + tests / 2 * 784);
        const auto evaluated = [&](std::size_t i) {
            return test_examples_of_all_rounds(Experiment::to_inspect(runs.configs[i]));
        };
        CHECK(evaluated(0) == 500.0 * static_cast<double>(tests));
        CHECK(evaluated(1) > 1.8 * evaluated(0));
        CHECK(evaluated(1) < 2.0 * evaluated(0));
    }

    TEST_CASE("EvaluationOfClientsIsCountedWithTheirEpochs") {
        Configs runs;
        // One of ten clients trains per round, and all ten train for personalised models: eleven times the
        // steps, whatever a step costs.
        const std::vector<std::string> plain{"rounds=20000", "training.cohort=1", "data.partition.holdout=0.2",
                                             "evaluation.every=20000"};
        runs.add(plain);
        std::vector<std::string> personalized = plain;
        personalized.emplace_back("evaluation.clients={every: 1, personalized: true}");
        runs.add(personalized);
        personalized.emplace_back("evaluation.clients.every=20000");
        runs.add(personalized);
        const Estimates found = estimate(runs.configs);
        CHECK(found.runs[1].core_seconds > 3.0 * found.runs[0].core_seconds);
        CHECK(found.runs[1].core_seconds > 3.0 * found.runs[2].core_seconds);
    }

    TEST_CASE("StepOfClientsTrainedAtOnceIsTheShareOfOne") {
        if (clients::libtorch_info().version == "none") FEDHIVE_SKIP("plain loops gain nothing by many clients at once");
        // For a tiny model a step is mostly call overhead, which is the same for 64 clients as for one.
        Configs runs;
        const std::vector<std::string> tiny{"model={name: lr}",           "training.engine=libtorch", "training.batch_size=4",
                                            "data.partition.clients=100", "training.cohort=64",       "rounds=20000",
                                            "evaluation.every=20000"};
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.end(), tiny.begin(), tiny.end());
            runs.add(more);
            return runs.configs.back();
        };
        const Experiment alone = Experiment::to_inspect(with({}));
        const Experiment at_once = Experiment::to_inspect(with({"training.clients_at_once=64"}));
        const double alone_s = time_of_step(alone, 0.0).seconds;
        CHECK(time_of_step(at_once, 0.0).seconds < 0.5 * alone_s);
        const Estimates found = estimate(runs.configs);
        CHECK(found.runs[1].core_seconds < 0.5 * found.runs[0].core_seconds);
    }

    TEST_CASE("WhatTheModelCannotTakeIsFoundWithItsKey") {
        Configs runs;
        runs.add({"model={name: mnist_cnn}"});
        CHECK_THROWS_WITH_AS(estimate(runs.configs), doctest::Contains("model.name"), ConfigError);
    }

    TEST_CASE("AllRunsThatAreRefusedAreNamed") {
        Configs runs;
        const std::vector<std::string> tiny{"rounds=1", "training.local_epochs=1", "model={name: mlp, hidden: 8}"};
        const auto add = [&](const std::vector<std::string>& more) {
            std::vector<std::string> all = tiny;
            all.insert(all.end(), more.begin(), more.end());
            runs.add(all);
        };
        add({});
        add({"model={name: mnist_cnn}"});
        add({"strategy={name: moon}", "model={name: lr}"});
        add({"strategy={name: moon}", "model={name: lr}", "training.optimizer.lr=0.01"});
        const std::vector<std::string> ids{"good", "deep", "moon", "moon-slow"};
        std::string told;
        try {
            estimate(runs.configs, ids);
        } catch (const ConfigError& error) {
            told = error.what();
        }
        CHECK_MESSAGE(told.find("model.name: ") != std::string::npos, told);
        CHECK_MESSAGE(told.find("(in run 'deep')") != std::string::npos, told);
        CHECK_MESSAGE(told.find("strategy.name: the loss or the measure of ") != std::string::npos, told);
        CHECK_MESSAGE(told.find("(in run 'moon' and 1 more)\nrefused: 3 of 4 runs, so none begins: deep, moon, moon-slow") !=
                          std::string::npos,
                      told);
    }
}
