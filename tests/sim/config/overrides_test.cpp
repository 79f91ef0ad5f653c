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
        {{"training.batch_sise=3"},
         "--set training.batch_sise=3: training.batch_sise: unknown key; did you mean 'batch_size'?"},
        {{"trainin.batch_size=3"}, "--set trainin.batch_size=3: trainin: unknown key; did you mean 'training'?"},
        {{"training.batch_sise=null"},
         "--set training.batch_sise=null: training.batch_sise: unknown key; did you mean 'batch_size'?"},
        {{"batch_size=3"}, "--set batch_size=3: batch_size: unknown key; did you mean 'training.batch_size'?"},
        {{"seed.x=3"}, "--set seed.x=3: seed.x: 'seed' (c.yaml:1) is not a section, it has no keys"},
        {{"seed=1", "seed.x=3"}, "--set seed.x=3: seed.x: 'seed' (--set seed=1) is not a section, it has no keys"},
        {{"training..x=3"},
         "--set training..x=3: training.: unknown key; known keys: cohort, participation, local_epochs, local_steps, "
         "batch_size, "
         "clients_per_slot, clients_at_once, engine, precision, graph, clip_norm, optimizer, lr_schedule"},
        {{"seed"}, "--set seed: wants KEY=VALUE, such as training.batch_size=32"},
        {{"=3"}, "--set =3: wants KEY=VALUE, such as training.batch_size=32"},
        {{"seed="}, "--set seed=: seed: no value after '='; write seed=null to take the key out of the file"},
        {{"seed=many"}, "--set seed=many: seed: wants an integer, found 'many'; allowed: 0 or more"},
        {{"seed=-1"}, "--set seed=-1: seed: -1 is out of range; allowed: 0 or more"},
        {{"seed=[1"}, "--set seed=[1: seed: a list or map cannot be a key, or its bracket is not closed; write `key: value`"},
        {{"seed=1: 2: 3"},
         "--set seed=1: 2: 3: seed: not valid YAML: illegal map value; keys of one section begin in the same column, and a "
         "space "
         "follows each colon; a text with ': ' in it wants quotes"},
        {{"seed=--- 1\n--- 2"}, "--set seed=--- 1\n--- 2: seed: a second document starts here; a config is one document"},
        {{"training={cohort: 1, cohort: 1}"}, "--set training={cohort: 1, cohort: 1}: training.cohort: given twice; keep one"},
        {{"training=3"}, "--set training=3: training: wants keys below it, found '3'"},
        {{"training.cohort=9"},
         "--set training.cohort=9: training.cohort: 9 is more than data.partition.clients; allowed: 1 to 4"},
        {{"model.name=null"}, "c.yaml: model.name: is missing; allowed: " + models() + "; or give layers or file"},
        {{"data.format=idx"}, "--set data.format=idx: data.root: is missing; format 'idx' needs it"},
        {{"data={format: idx}"}, "--set data={format: idx}: data.root: is missing; format 'idx' needs it"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.error);
        CHECK_EQ(error_of(kMinimal, row.overrides), row.error);
    }
}

TEST_CASE("OverrideThatMakesAKeyOfTheFileInapplicable") {
    const std::string file = "model: {name: lr}\ndata:\n  format: idx\n  root: x\n";
    CHECK_EQ(error_of(file, {"data.format=glyphs"}), "c.yaml:4: data.root: 'root' belongs to format " + formats_with("root") +
                                                         "; the format here is 'glyphs' (--set data.format=glyphs); "
                                                         "known keys: format, "
                                                         "num_train, num_test, shared, normalize, augment, skew, partition");
    CHECK_EQ(loaded(file, {"data.format=glyphs", "data.root=null"}).data.format, "glyphs");
    CHECK_EQ(error_of(kMinimal, {"data.root=x"}), "--set data.root=x: data.root: 'root' belongs to format " +
                                                      formats_with("root") +
                                                      "; the format here is 'glyphs'; known keys: format, "
                                                      "num_train, "
                                                      "num_test, shared, normalize, augment, skew, partition");
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
