#include "sim/plan/experiment.h"
#include "sim/config/load_config.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <type_traits>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// Three clients, ten rounds, lr over four features.
LoadedConfig ten_rounds(const testing::TemporaryFolder& folder, const std::vector<std::string>& overrides = {}) {
    const auto file = folder.path() / "ten.yaml";
    std::ofstream(file) << "data: {format: synthetic, num_train: 30, num_test: 6, num_features: 4, num_classes: 2, partition: "
                           "{clients: 3}}\nmodel: {name: lr}\nrounds: 10\ndevice: cpu\nworkers: 2\n";
    return load_config(file, overrides);
}

std::vector<float> model_of(const Experiment& run) {
    const auto values = run.server.global_model().host();
    return {values.begin(), values.end()};
}

}  // namespace

TEST_SUITE("Experiment") {
    TEST_CASE("ThereIsNoWayInThatLeavesItWithoutAModel") {
        static_assert(!std::is_constructible_v<Experiment, const LoadedConfig&>);
        const testing::TemporaryFolder folder;
        const LoadedConfig loaded = ten_rounds(folder);
        const std::vector<float> first = model_of(Experiment::to_inspect(loaded));
        CHECK(first != std::vector<float>(first.size(), 0.0F));
        CHECK(model_of(Experiment::to_run(loaded, 10)) == first);
        const std::vector<float> given(first.size(), 2.0F);
        const auto begin = [&](const Experiment& run) { run.server.begin_with({given, {}}); };
        CHECK(model_of(Experiment::to_evaluate(loaded, begin)) == given);
        CHECK(model_of(Experiment::to_replay(loaded, begin)) == given);
        CHECK(model_of(Experiment::to_resume(loaded, begin, 10, std::nullopt)) == given);
    }

    // 3 slots of 1.2 million floats are shared among two workers.
    TEST_CASE("TheArenaHasRoomForProductsIfTheRuleTheGroupingOrTheMethodTakesThem") {
        const testing::TemporaryFolder folder;
        const auto floats = [&](const std::string& strategy) {
            const LoadedConfig loaded =
                ten_rounds(folder, {"model={name: mlp, hidden: 1100}", "strategy={name: " + strategy + "}"});
            return Experiment::to_run(loaded, 10).resources.arena->geometry().num_products;
        };
        CHECK(floats("fedavg") == 0);
        CHECK(floats("term") == 0);
        CHECK(floats("rfa") > 0);
        CHECK(floats("multi_krum, m: 1, f: 0") > 0);
        CHECK(floats("median, pre_aggregation: nearest_neighbors") > 0);
    }

    TEST_CASE("SkewIsOfWhatClientsTrainOnAndHoldOutAndNotOfTheTests") {
        const testing::TemporaryFolder folder;
        const auto file = folder.path() / "skewed.yaml";
        std::ofstream(file) << "data: {format: glyphs, num_train: 40, num_test: 8, partition: {clients: 2, holdout: 0.3}}\n"
                               "model: {name: lr}\nrounds: 1\ndevice: cpu\nworkers: 0\n";
        const Experiment plain = Experiment::to_inspect(load_config(file));
        const Experiment skewed = Experiment::to_inspect(load_config(file, {"data.skew.rotation=half_turns"}));
        const auto values = [](const Experiment& run, std::uint32_t example, bool turned) {
            const auto bytes = run.data.dataset.train().example(example);
            return turned ? std::vector(bytes.rbegin(), bytes.rend()) : std::vector(bytes.begin(), bytes.end());
        };
        for (std::uint32_t client = 0; client < 2; ++client)
            for (const auto& examples : {plain.data.dataset.shard(client), plain.data.dataset.held_out(client)}) {
                REQUIRE(examples.size() > 5);
                for (const std::uint32_t example : examples)
                    CHECK(values(skewed, example, client == 1) == values(plain, example, false));
            }
        CHECK(std::ranges::equal(skewed.data.dataset.test().values, plain.data.dataset.test().values));
        CHECK(skewed.data.fingerprint == plain.data.fingerprint);
    }

    TEST_CASE("HowManyWorkersThereAreIsSettledForThoseWhoStartThem") {
        const testing::TemporaryFolder folder;
        const Experiment run = Experiment::to_run(ten_rounds(folder), 10);
        CHECK(run.resources.num_workers == 2);
        CHECK(run.resources.workers.workers == 2);
        CHECK(run.resources.workers.by == ChosenBy::Config);
        CHECK(Experiment::to_inspect(ten_rounds(folder)).resources.num_workers == 2);
    }

    TEST_CASE("RecordedArrivalsAreThoseOfTheRoundsThatAreLeftButNobodyAsksInAReplay") {
        const testing::TemporaryFolder folder;
        // There is no client 7.
        std::ofstream(folder.path() / "arrivals.csv") << "round,client_id\n1,7\n1,1\n1,2\n2,0\n2,1\n2,2\n";
        const std::string arrivals = "arrivals=" + (folder.path() / "arrivals.csv").string();
        const LoadedConfig loaded = ten_rounds(folder, {"rounds=2", "clock=wall", arrivals});
        CHECK_THROWS_AS(Experiment::to_inspect(loaded), ConfigError);
        CHECK_THROWS_AS(Experiment::to_run(loaded, 2), ConfigError);
        const auto after_one = [&](Experiment& run) {
            run.begin_anew(loaded);
            run.server.state.round = 1;
        };
        CHECK(Experiment::to_resume(loaded, after_one, 2, std::nullopt).server.state.round == 1);
        const auto anew = [&](const Experiment& run) { run.begin_anew(loaded); };
        CHECK(Experiment::to_replay(loaded, anew).server.state.round == 0);
    }
}
