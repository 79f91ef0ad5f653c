// Every message for a mistake in a sweep file, word by word.
#include "tests/sim/config/sweep_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

struct Row {
    std::string text;
    std::string error;
};

/// Checks each row; the text begins on line 2, below `base`.
void check(const std::vector<Row>& rows, const std::string& more_base = "") {
    const SweepFolder folder(more_base);
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CHECK_EQ(folder.error_of(row.text), row.error);
    }
}

}  // namespace

TEST_SUITE_BEGIN("SweepErrors");

TEST_CASE("KeysOfTheSweepFile") {
    check({
        {"sedes: 3\n", "s.yaml:2: sedes: unknown key; did you mean 'seeds'?"},
        {"gird: {rounds: [1, 2]}\n", "s.yaml:2: gird: unknown key; did you mean 'grid'?"},
        {"early_stopping: {rul: median}\nseeds: 2\n", "s.yaml:2: early_stopping.rul: unknown key; did you mean 'rule'?"},
        {"random: {run: 2, draw: {}}\n", "s.yaml:2: random.run: unknown key; did you mean 'runs'?"},
        {"zzz: 3\n",
         "s.yaml:2: zzz: unknown key; known keys: name, base, set, grid, zip, cases, random, seeds, max_runs, target_accuracy, "
         "target_top5_accuracy, target_mse, target_mae, target_perplexity, "
         "early_stopping"},
        {"rounds: 3\nseeds: 2\n",
         "s.yaml:2: rounds: is a key of a run, not of a sweep; write it below `set`, or below an axis such as `grid`"},
        {"seeds: 2\ntraining.optimizer.lr: 3\n",
         "s.yaml:3: training.optimizer.lr: is a key of a run, not of a sweep; write it below `set`, or below an axis such as "
         "`grid`"},
        {"seeds: {partition: 3}\n",
         "s.yaml:2: seeds: wants a number of seeds or a list of them, found a map; what parts of a run draw from is written "
         "set: "
         "{seeds: {partition: 1}}, or grid: {seeds.partition: [1, 2]} where it varies"},
        {"cases: [{name: a, rounds: 2}, {rounds: 3}, {name: a, rounds: 4}]\n",
         "s.yaml:2: cases[2].name: 'a' is what cases[0] is called, too; names are to tell cases apart"},
        {"cases: [{name: [a], rounds: 2}]\n",
         "s.yaml:2: cases[0].name: wants what to call this case, 1 to 60 characters, found a list"},
        {"cases: [{name: '', rounds: 2}]\n",
         "s.yaml:2: cases[0].name: wants what to call this case, 1 to 60 characters, found the string \"\""},
        {"seeds: 2\nseeds: 3\n", "s.yaml:3: seeds: given twice, first on line 2; keep one"},
        {"seeds: 2\nname: a/b\n",
         "s.yaml:3: name: 'a/b' cannot name a folder; allowed: 1 to 100 of A-Z a-z 0-9 . _ -, not beginning with . or -"},
        {"seeds: 2\ntarget_perplexity: 0.5\n", "s.yaml:3: target_perplexity: 0.5 is out of range; allowed: 1 or more"},
        {"seeds: 2\ntarget_perplexity: 5\n",
         "s.yaml:3: target_perplexity: runs of task 'classification' have no perplexity (run 'seed-1'); allowed: "
         "target_accuracy, "
         "target_top5_accuracy"},
        {"seeds: 2\ntarget_top5_accuracy: 0.5\ntarget_accuracy: 0.5\n",
         "s.yaml:3: target_top5_accuracy: a sweep has one target, and there is target_accuracy, too; leave one of them"},
        {"seeds: 2\ntarget_accuracy: 90\n", "s.yaml:3: target_accuracy: 90 is out of range; allowed: above 0, at most 1"},
        {"seeds: 2\nmax_runs: 0\n", "s.yaml:3: max_runs: 0 is out of range; allowed: 1 to 1e9"},
    });
}

TEST_CASE("Base") {
    const TemporaryFolder folder;
    folder.write("quick.yaml", kMinimal);
    folder.write("other.yaml", "base: quick.yaml\nset: {rounds: 2}\nseeds: 2\n");
    folder.write("broken.yaml", "rounds: [\n");
    folder.write("half.yaml", "data: {format: glyphs}\nmodel: {nam: lr}\n");
    const auto error = [&](const std::string& text) {
        try {
            load_sweep(folder.write("s.yaml", text));
        } catch (const ConfigError& thrown) {
            std::string message = thrown.what();
            const std::string prefix = folder.path().string() + "/";
            for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
                message.erase(at, prefix.size());
            return message;
        }
        return std::string();
    };
    CHECK_EQ(error("base: quick.yaml\nseeds: 2\n"), "");
    CHECK_EQ(error("seeds: 2\n"), "s.yaml: base: is missing");
    CHECK_EQ(error(""), "s.yaml: is empty; the shortest sweep has `base: FILE` and `seeds: 3`");
    CHECK_EQ(error("seeds: 2\nbase: quik.yaml\n"), "s.yaml:2: base: quik.yaml: no such file; did you mean 'quick.yaml'?");
    CHECK_EQ(error("base: .\nseeds: 2\n").rfind("s.yaml:1: base: ", 0), 0);
    CHECK_EQ(error("base: [quick.yaml]\nseeds: 2\n"), "s.yaml:1: base: wants a path, found a list");
    CHECK_EQ(error("seeds: 2\nbase: other.yaml\n"),
             "s.yaml:2: base: other.yaml is a sweep itself (other.yaml:1: base); name a config");
    CHECK_EQ(error("base: broken.yaml\nseeds: 2\n").rfind("broken.yaml:", 0), 0);
    CHECK_EQ(error("base: half.yaml\nseeds: 2\n"), "half.yaml:2: model.nam: unknown key; did you mean 'name'?");
    CHECK_THROWS_AS(load_sweep(folder.path() / "none.yaml"), ConfigError);
}

TEST_CASE("NothingVaries") {
    const std::string nothing =
        "s.yaml: nothing varies; write grid, zip, cases, random or seeds, such as grid: {training.optimizer.lr: [0.01, 0.1]}";
    check({{"set: {rounds: 3}\n", nothing}, {"grid: {}\n", nothing}, {"zip: {}\n", nothing}, {"seeds: 1\n", ""}});
}

TEST_CASE("ListsOfValues") {
    check({
        {"grid:\n  rounds: 3\n", "s.yaml:3: grid.rounds: wants a list of values, found '3'; write [3]"},
        {"grid:\n  rounds: []\n",
         "s.yaml:3: grid.rounds: is an empty list, which would leave no run; write its values or take it out"},
        {"grid: [rounds]\n", "s.yaml:2: grid: wants keys of a config with values, found a list"},
        {"grid:\nseeds: 2\n", "s.yaml:2: grid: wants keys of a config with values, found nothing"},
        {"zip:\n  rounds: [1, 2]\n  training.batch_size: [4, 5, 6]\n",
         "s.yaml:4: zip.training.batch_size: has 3 values, zip.rounds (s.yaml:3) has 2; lists that go side by side are equally "
         "long"},
        {"zip: {rounds: [], training.batch_size: []}\n",
         "s.yaml:2: zip.rounds: is an empty list, which would leave no run; write its values or take it out"},
        {"zip: {rounds: 1}\n", "s.yaml:2: zip.rounds: wants a list of values, found '1'; write [1]"},
        {"cases: []\n", "s.yaml:2: cases: is an empty list, which would leave no run; write its values or take it out"},
        {"cases: {rounds: 3}\n", "s.yaml:2: cases: wants a list of values, found a map"},
        {"cases:\n- {rounds: 3}\n- 4\n", "s.yaml:4: cases[1]: wants keys of a config with values, found '4'"},
        {"set: 3\nseeds: 2\n", "s.yaml:2: set: wants keys of a config with values, found '3'"},
    });
}

TEST_CASE("Seeds") {
    check({
        {"seeds: 0\n", "s.yaml:2: seeds: 0 is out of range; allowed: 1 to 1e9"},
        {"seeds: many\n", "s.yaml:2: seeds: wants an integer, found 'many'; allowed: 1 to 1e9"},
        {"seeds: []\n", "s.yaml:2: seeds: is an empty list, which would leave no run; write its values or take it out"},
        {"seeds:\n- 3\n- 4\n- 3\n", "s.yaml:5: seeds: '3' is given twice; keep one"},
        {"seeds: [1, -2]\n", "s.yaml:2: seed: -2 is out of range; allowed: 0 or more"},
        {"seeds: 3\nset: {seed: 18446744073709551614}\n",
         "s.yaml:2: seeds: 3 seeds from 18446744073709551614 on do not fit in 64 bits"},
        {"seeds: 2\nset:\n  seed: x\n", "s.yaml:4: seed: wants an integer, found 'x'; allowed: 0 or more"},
        {"seeds: 2\ngrid:\n  seed: [1, 2]\n", "s.yaml:2: seeds: varied twice, first by grid.seed (s.yaml:4); keep one"},
        {"seeds: [2, 3]\nset:\n  seed: 1\n", "s.yaml:4: set.seed: is varied by seeds (s.yaml:2); change it there"},
    });
}

TEST_CASE("ValuesThatDoNotValidateNameTheSweepsLine") {
    check({
        {"grid:\n  training.optimizer.lr: [0.1, fast]\n",
         "s.yaml:3: training.optimizer.lr: wants a number, found 'fast'; allowed: above 0"},
        {"grid:\n  training.optimizer.lr:\n  - 0.1\n  - fast\n",
         "s.yaml:5: training.optimizer.lr: wants a number, found 'fast'; allowed: above 0"},
        {"seeds: 2\ngrid:\n  training.optimiser.lr: [0.1]\n",
         "s.yaml:4: training.optimiser: unknown key; did you mean 'optimizer'?"},
        {"grid:\n  training.optimizer.lrr: [0.1]\n", "s.yaml:3: training.optimizer.lrr: unknown key; did you mean 'lr'?"},
        {"set:\n  data:\n    nun_train: 3\nseeds: 2\n", "s.yaml:4: data.nun_train: unknown key; did you mean 'num_train'?"},
        {"cases:\n- {rounds: 1}\n- strategy: {name: fedporx}\n",
         "s.yaml:4: strategy.name: unknown value 'fedporx'; allowed: fedavg, fedavgm, fedprox, fedadam, fedyogi, fedadagrad, "
         "scaffold, feddyn, median, krum; did "
         "you mean "
         "'fedprox'?"},
        {"zip:\n  rounds: [1, 0]\n  training.batch_size: [1, 2]\n", "s.yaml:3: rounds: 0 is out of range; allowed: 1 to 1e9"},
        {"grid:\n  strategy: [fedavg, fedprox]\n",
         "s.yaml:3: strategy: wants keys below it, found 'fedavg'; write strategy: {name: fedavg}"},
        {"grid:\n  seed.x: [1]\n", "s.yaml:3: seed.x: 'seed' (c.yaml:1) is not a section, it has no keys"},
        {"grid:\n  training..lr: [1]\n", "s.yaml:3: grid: 'training..lr' is no key; write names with one dot between them"},
    });
}

TEST_CASE("CombinationsThatDoNotGoTogetherNameTheRun") {
    check(
        {
            {"grid:\n  data.partition.clients: [4, 2]\nseeds: 2\n",
             "c.yaml:8: training.cohort: 3 is more than data.partition.clients; allowed: 1 to 2 (in run 'clients-2+seed-1')"},
            {"grid:\n  data.partition.clients: [4, 2]\n  training:\n  - {cohort: 2}\n  - {cohort: 4}\n",
             "s.yaml:6: training.cohort: 4 is more than data.partition.clients; allowed: 1 to 2 (in run 'clients-2+cohort-4')"},
            {"grid:\n  strategy:\n  - {name: fedavg}\n  - {name: median}\n  mode:\n  - {name: synchronous}\n  - {name: "
             "async}\n",
             "s.yaml:8: mode.name: strategy 'median' does not run in mode 'async'; allowed: synchronous, split (in run "
             "'strategy-median+mode-async')"},
            {"grid:\n  mode.name: [synchronous, split]\n",
             "s.yaml:3: mode.cut: is missing; mode 'split' needs it (in run 'mode-split')"},
            {"grid:\n  data.format: [glyphs, idx]\n",
             "s.yaml:3: data.root: is missing; format 'idx' needs it (in run 'format-idx')"},
            {"cases:\n- {model: {name: mlp}}\n- {mode: {name: split}, rounds: 3}\n",
             "s.yaml:4: mode.cut: is missing; mode 'split' needs it (in run 'model-lr+mode-split+rounds-3')"},
            {"grid:\n  strategy.proximal_mu: [0.1]\n",
             "s.yaml:3: strategy.proximal_mu: 'proximal_mu' belongs to local 'prox'; the local here is 'plain'; "
             "known keys: name, weighting, local, aggregator, server, server_lr (in run 'proximal_mu-0.1')"},
            {"set:\n  strategy.name: fedprox\ngrid:\n  strategy.tau: [1]\n",
             "s.yaml:5: strategy.tau: 'tau' belongs to server 'adam' or 'yogi' or 'adagrad'; the server here is 'sgd'; known "
             "keys: "
             "name, weighting, local, proximal_mu, aggregator, server, server_lr (in run 'tau-1')"},
        },
        "training:\n  cohort: 3\n");
}

TEST_CASE("KeysThatVaryTwice") {
    check({
        {"grid:\n  rounds: [1, 2]\nzip:\n  rounds: [3, 4]\n",
         "s.yaml:5: zip.rounds: varied twice, first by grid.rounds (s.yaml:3); keep one"},
        {"grid:\n  strategy.weighting: [uniform]\ncases:\n- {rounds: 2}\n- {strategy: {name: fedavg}}\n",
         "s.yaml:6: cases[1].strategy: varied twice, first by grid.strategy.weighting (s.yaml:3); keep one"},
        {"grid:\n  training: [{batch_size: 3}]\nrandom:\n  runs: 2\n  draw:\n    training.batch_size: {uniform: [1, 9]}\n",
         "s.yaml:7: random.draw.training.batch_size: varied twice, first by grid.training (s.yaml:3); keep one"},
        {"grid:\n  rounds: [1]\n  training: {batch_size: [3]}\n  training.batch_size: [4]\n",
         "s.yaml:5: grid.training.batch_size: given twice, first by grid.training.batch_size (s.yaml:4); keep one"},
        {"cases:\n- {strategy: {name: fedavg}, strategy.weighting: uniform}\n",
         "s.yaml:3: cases[0].strategy.weighting: given twice, first by cases[0].strategy (s.yaml:3); keep one"},
        {"set:\n  rounds: 3\n  training.batch_size: 3\ngrid:\n  training.batch_size: [1]\n",
         "s.yaml:4: set.training.batch_size: is varied by grid.training.batch_size (s.yaml:6); change it there"},
        {"grid:\n  name: [a, b]\n", "s.yaml:3: grid.name: cannot vary: a run of a sweep is named by its settings"},
    });
}

TEST_CASE("OverridesOfVariedKeys") {
    const SweepFolder folder;
    const std::string text = "grid:\n  training.optimizer.lr: [1]\ncases:\n- {rounds: 3}\nseeds: [1, 2]\n";
    CHECK_EQ(folder.error_of(text, {"workers=2"}), "");
    CHECK_EQ(folder.error_of(text, {"workers=2", "training.optimizer.lr=3"}),
             "--set training.optimizer.lr=3: training.optimizer.lr: is varied by grid.training.optimizer.lr (s.yaml:3); change "
             "it there");
    CHECK_EQ(
        folder.error_of(text, {"training.optimizer={momentum: 0.5}"}),
        "--set training.optimizer={momentum: 0.5}: training.optimizer: is varied by grid.training.optimizer.lr (s.yaml:3); "
        "change it there");
    CHECK_EQ(folder.error_of(text, {"rounds=4"}),
             "--set rounds=4: rounds: is varied by cases[0].rounds (s.yaml:5); change it there");
    CHECK_EQ(folder.error_of(text, {"seed=4"}), "--set seed=4: seed: is varied by seeds (s.yaml:6); change it there");
    CHECK_EQ(folder.error_of(text, {"worker=4"}), "--set worker=4: worker: unknown key; did you mean 'workers'?");
}

TEST_CASE("Draws") {
    const SweepFolder folder;
    const auto drawn = [&](const std::string& draw, const std::string& key = "training.optimizer.lr") {
        return folder.error_of("random:\n  runs: 2\n  draw:\n    " + key + ": " + draw + "\n");
    };
    const std::string lr = "s.yaml:5: random.draw.training.optimizer.lr";
    const std::string wanted = ": wants one of {uniform: [low, high]}, {log_uniform: [low, high]}, {choice: [...]}, found ";
    CHECK_EQ(drawn("3"), lr + wanted + "'3'");
    CHECK_EQ(drawn("[1, 2]"), lr + wanted + "a list");
    CHECK_EQ(drawn("{uniform: [1, 2], choice: [1]}"), lr + wanted + "a map of 2 keys");
    CHECK_EQ(drawn("{loguniform: [1, 2]}"),
             lr + ": unknown draw 'loguniform'; allowed: uniform, log_uniform, choice; did you mean 'log_uniform'?");
    CHECK_EQ(drawn("{normal: [1, 2]}"), lr + ": unknown draw 'normal'; allowed: uniform, log_uniform, choice");
    CHECK_EQ(drawn("{uniform: [2, 1]}"), lr + ".uniform: low has to be below high; found 2 and 1");
    CHECK_EQ(drawn("{uniform: [1, 1]}"), lr + ".uniform: low has to be below high; found 1 and 1");
    CHECK_EQ(drawn("{uniform: [1, 2, 3]}"), lr + ".uniform: wants two numbers, [low, high], found 3");
    CHECK_EQ(drawn("{uniform: 1}"), lr + ".uniform: wants a list of numbers, found '1'; write [1]");
    CHECK_EQ(drawn("{uniform: [1, x]}"), lr + ".uniform[1]: wants a number, found 'x'");
    CHECK_EQ(drawn("{log_uniform: [0, 1]}"), lr + ".log_uniform: both bounds have to be above 0; found 0 and 1");
    CHECK_EQ(drawn("{log_uniform: [-1, 1]}"), lr + ".log_uniform: both bounds have to be above 0; found -1 and 1");
    CHECK_EQ(drawn("{choice: []}"), lr + ".choice: wants a list of values, found an empty one");
    CHECK_EQ(drawn("{choice: 3}"), lr + ".choice: wants a list of values, found '3'");
    CHECK_EQ(drawn("{choice: [fast]}"), "s.yaml:5: training.optimizer.lr: wants a number, found 'fast'; allowed: above 0");
    CHECK_EQ(drawn("{uniform: [-2, -1]}").rfind("s.yaml:5: training.optimizer.lr: -1.", 0), 0);
    CHECK_EQ(drawn("{uniform: [1, 2]}", "model.name"),
             "s.yaml:5: random.draw.model.name.uniform: model.name does not want a number; draw it with choice");
    CHECK_EQ(drawn("{uniform: [1.2, 1.8]}", "rounds"),
             "s.yaml:5: random.draw.rounds.uniform: rounds wants an integer, and there is none from 1.2 to 1.8");
    CHECK_EQ(drawn("{uniform: [1, 2]}", "training.optimizer.lrr"),
             "s.yaml:5: training.optimizer.lrr: unknown key; did you mean 'lr'?");
    check({
        {"random: {draw: {rounds: {choice: [1]}}}\n", "s.yaml: random.runs: is missing"},
        {"random: {runs: 0, draw: {rounds: {choice: [1]}}}\n", "s.yaml:2: random.runs: 0 is out of range; allowed: 1 to 1e9"},
        {"random: {runs: 1}\n", "s.yaml:2: random.draw: is missing; write draw: {KEY: {uniform: [low, high]}}"},
        {"random: {runs: 1, draw: {}}\n", "s.yaml:2: random.draw: names no key; write draw: {KEY: {uniform: [low, high]}}"},
        {"random: 4\n", "s.yaml:2: random: wants keys below it, found '4'"},
    });
}

TEST_CASE("MoreRunsThanAllowed") {
    const std::string hundred = "random: {runs: 100, draw: {training.optimizer.lr: {uniform: [0.1, 1]}}}\n";
    const std::string zips = "cases: [{rounds: 1}, {rounds: 2}]\nzip: {training.batch_size: [1, 2, 3]}\n";
    check({
        {hundred + zips + "seeds: 2\n",
         "s.yaml: max_runs: the sweep has 1200 runs (random: 100, cases: 2, zip: 3, seeds: 2); allowed: 1000; vary less, or "
         "raise max_runs"},
        {hundred + "max_runs: 99\n",
         "s.yaml:3: max_runs: the sweep has 100 runs (random: 100); allowed: 99; vary less, or raise max_runs"},
        {hundred + "max_runs: 100\n", ""},
        // Runs are counted before any is created, and without overflow.
        {"random: {runs: 1000000000, draw: {training.optimizer.lr: {uniform: [0.1, 1]}}}\nseeds: 1000000000\nmax_runs: "
         "1000000000\ngrid: {rounds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}\n",
         "s.yaml:4: max_runs: the sweep has 1e18 or more runs (random: 1000000000, grid.rounds: 20, seeds: 1000000000); "
         "allowed: 1000000000; vary less, or raise max_runs"},
    });
}

TEST_CASE("EqualRuns") {
    check({
        {"grid:\n  training.optimizer.lr:\n  - 0.1\n  - 0.2\n  - 1e-1\n",
         "s.yaml:6: grid.training.optimizer.lr[2]: makes the same run as grid.training.optimizer.lr[0] (s.yaml:4), 'lr-0.1'; "
         "keep one"},
        {"cases:\n- {rounds: 10}\n- {}\nseeds: 2\n",
         "s.yaml:2: cases[1]: makes the same run as cases[0] (s.yaml:3), 'rounds-10+seed-1'; keep one"},
        {"seeds: [1, +1]\n", "s.yaml:2: seeds[1]: makes the same run as seeds[0] (s.yaml:2), 'seed-1'; keep one"},
        {"random:\n  runs: 3\n  draw:\n    training.batch_size: {choice: [8, 16]}\n",
         "s.yaml:5: random[2]: makes the same run as random[1] (s.yaml:5), 'batch_size-16'; draw fewer runs, or from more "
         "values"},
    });
}

TEST_CASE("EarlyStopping") {
    const std::string rule = "grid: {training.optimizer.lr: [0.1, 0.2]}\nearly_stopping:\n  rule: halving\n";
    check({
        {rule, ""},
        {rule + "set: {rounds: 4}\n  \n", ""},
        {"seeds: 2\nearly_stopping: {rule: halfing}\n",
         "s.yaml:3: early_stopping.rule: unknown value 'halfing'; allowed: halving, median, none; did you mean 'halving'?"},
        {rule + "  factor: 1\n", "s.yaml:5: early_stopping.factor: 1 is out of range; allowed: 2 to 1e9"},
        {rule + "  first_round: 0\n", "s.yaml:5: early_stopping.first_round: 0 is out of range; allowed: 1 to 1e9"},
        {"seeds: 2\nearly_stopping: {rule: median, factor: 3}\n",
         "s.yaml:3: early_stopping.factor: 'factor' belongs to rule 'halving' or 'none'; the rule here is 'median'; known "
         "keys: "
         "rule, first_round"},
        {rule + "  first_round: 4\nset: {rounds: 5}\n", ""},
        {rule + "  first_round: 5\nset: {rounds: 5}\n",
         "s.yaml:5: early_stopping.first_round: 5 is not before the last round; the run has 5 (run 'lr-0.1')"},
        {rule + "set: {rounds: 1}\n",
         "s.yaml:3: early_stopping.first_round: 1 is not before the last round; the run has 1 (run 'lr-0.1')"},
        {rule + "  first_round: 2\nset: {evaluation.every: 3}\n",
         "s.yaml:5: early_stopping.first_round: 2 is before the first evaluation, so there is nothing to compare; "
         "evaluation.every is 3 (run 'lr-0.1')"},
        {"cases: [{}, {mode: {name: hogwild}}]\nearly_stopping:\n  rule: median\n",
         "s.yaml:4: early_stopping.rule: pauses runs and resumes them, which has to give the same result: mode hogwild never "
         "promises the same bits again (run 'mode-hogwild')"},
        {"cases: [{mode: {name: hogwild}}]\nearly_stopping: {rule: none, first_round: 100, factor: 4}\n", ""},
    });
    const std::string wall =
        "s.yaml:2: early_stopping.rule: pauses runs and resumes them, which has to give the same result: on the wall clock the "
        "order of arrival is another one each time; write clock: virtual (run 'seed-1')";
    const std::string stop = "early_stopping: {rule: halving}\nseeds: 1\nset: {clock: wall, ";
    check({
        {stop + "mode: {name: async}}\n", wall},
        {stop + "mode: {name: semi_async, quorum: 2}}\n", wall},
        {stop + "mode: {name: parameter_server}}\n", wall},
        {stop + "mode: {quorum: 3}}\n", wall},
        {stop + "mode: {quorum: 4}}\n", ""},
        {stop + "mode: {name: async}, arrivals: a.csv}\n", ""},
        {stop + "rounds: 3}\n", ""},
    });
}

TEST_SUITE_END();
