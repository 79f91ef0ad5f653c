// --set: replaces one key, with the same checks as in a file.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("Overrides");

TEST_CASE("OverrideReplacesAndTheLaterOneWins") {
    const RunConfig run =
        loaded(kMinimal, {"seed=7", "training.batch_size=16", "training.batch_size=8", "training.optimizer.lr=1e-3",
                          "workers=auto", "data.partition.clients=6", "name=a-b", "strategy.name=fedadam", "strategy.tau=0.5",
                          "data.normalize={mean: [0.5], std: [0.25]}"});
    CHECK_EQ(run.seed, 7);
    CHECK_EQ(run.training.batch_size, 8);
    CHECK_EQ(run.training.optimizer.values.number("lr"), 1e-3);
    CHECK_FALSE(run.workers.has_value());
    CHECK_EQ(run.data.partition.clients, 6);
    CHECK_EQ(run.training.cohort, 6);
    CHECK_EQ(run.name, "a-b");
    CHECK_EQ(run.strategy.parts.server.values.number("tau"), 0.5);
    CHECK_EQ(run.data.normalize.std, std::vector<double>{0.25});
}

TEST_CASE("OverrideReplacesASectionAndTakesKeysOut") {
    const std::string file = kMinimal + "training: {participation: 0.5, batch_size: 4}\n";
    CHECK_EQ(loaded(file, {"training={batch_size: 5}"}).training.batch_size, 5);
    CHECK_EQ(loaded(file, {"training={batch_size: 5}"}).training.cohort, 4);
    const RunConfig run = loaded(file, {"training.participation=null", "training.cohort=3"});
    CHECK_EQ(run.training.cohort, 3);
    CHECK_FALSE(run.training.participation.has_value());
    CHECK_EQ(loaded(file, {"training=null"}).training.batch_size, TrainingConfig().batch_size);
    CHECK_EQ(loaded(file, {"training=null", "training.batch_size=9"}).training.batch_size, 9);
    CHECK_EQ(loaded(kMinimal + "training:\n", {"training.batch_size=9"}).training.batch_size, 9);
}

TEST_CASE("OverrideErrors") {
    struct Row {
        std::vector<std::string> overrides;
        std::string error;
    };
    const std::vector<Row> rows = {
        {{"training.batch_sise=3"}, "--set training.batch_sise=3: training.batch_sise"},
        {{"trainin.batch_size=3"}, "--set trainin.batch_size=3: trainin"},
        {{"training.batch_sise=null"}, "--set training.batch_sise=null: training.batch_sise"},
        {{"batch_size=3"}, "--set batch_size=3: batch_size"},
        {{"seed.x=3"}, "--set seed.x=3: seed.x"},
        {{"seed=1", "seed.x=3"}, "--set seed.x=3: seed.x"},
        {{"training..x=3"}, "--set training..x=3: training."},
        {{"seed"}, "--set seed"},
        {{"=3"}, "--set =3"},
        {{"seed="}, "--set seed=: seed"},
        {{"seed=many"}, "--set seed=many: seed"},
        {{"seed=-1"}, "--set seed=-1: seed"},
        {{"seed=[1"}, "--set seed=[1: seed"},
        {{"seed=1: 2: 3"}, "--set seed=1: 2: 3: seed"},
        {{"training={cohort: 1, cohort: 1}"}, "--set training={cohort: 1, cohort: 1}: training.cohort"},
        {{"training=3"}, "--set training=3: training"},
        {{"training.cohort=9"}, "--set training.cohort=9: training.cohort"},
        {{"model.name=null"}, "c.yaml: model.name"},
        {{"data.format=idx"}, "--set data.format=idx: data.root"},
        {{"data={format: idx}"}, "--set data={format: idx}: data.root"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.error);
        check_message("config", fmt::format("{}", fmt::join(row.overrides, " ")), error_of(kMinimal, row.overrides), row.error);
    }
    CHECK(error_of(kMinimal, {"seed=--- 1\n--- 2"}).starts_with("--set seed=--- 1\n--- 2: seed: a second document"));
}

TEST_CASE("OverrideThatMakesAKeyOfTheFileInapplicable") {
    const std::string file = "model: {name: lr}\ndata:\n  format: idx\n  root: x\n";
    CHECK_ERROR_AT(error_of(file, {"data.format=glyphs"}), "c.yaml:4: data.root");
    CHECK_EQ(loaded(file, {"data.format=glyphs", "data.root=null"}).data.format, "glyphs");
    CHECK_ERROR_AT(error_of(kMinimal, {"data.root=x"}), "--set data.root=x: data.root");
}

TEST_CASE("SourceNamesFileLineAndOverride") {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.write("c.yaml", kMinimal + "training:\n  optimizer: {lr: 0.5}\n");
    const LoadedConfig config = load_config(file, {"seed=3", "evaluation={every: 2}", "training.cohort=null"});
    const auto text = [&](const std::string& path) { return std::string(config.source->error(path, "is bad").what()); };
    CHECK_EQ(text("model.name"), file.string() + ":6: model.name: is bad");
    CHECK_EQ(text("model"), file.string() + ":5: model: is bad");
    CHECK_EQ(text("training.optimizer.lr"), file.string() + ":8: training.optimizer.lr: is bad");
    CHECK_EQ(text("training.batch_size"), file.string() + ": training.batch_size: is bad");
    CHECK_EQ(text("training.cohort"), file.string() + ": training.cohort: is bad");
    CHECK_EQ(text("stop.test_accuracy"), file.string() + ": stop.test_accuracy: is bad");
    CHECK_EQ(text("seed"), "--set seed=3: seed: is bad");
    CHECK_EQ(text("evaluation.chunk_size"), "--set evaluation={every: 2}: evaluation.chunk_size: is bad");
}

TEST_SUITE_END();
