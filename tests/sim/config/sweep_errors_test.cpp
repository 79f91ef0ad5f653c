// Every message for a mistake in a sweep file, with its place; tests/golden/messages has the wording.
#include "tests/sim/config/sweep_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

/// Checks each row; the text begins on line 2, below `base`.
void check(const std::vector<ErrorRow>& rows, const std::string& more_base = "") {
    const SweepFolder folder(more_base);
    for (const ErrorRow& row : rows) {
        CAPTURE(row.text);
        check_message("sweep", row.text, folder.error_of(row.text), row.places);
    }
}

}  // namespace

/// As CHECK_ERROR_AT.
#define CHECK_SWEEP_ERROR_AT(message, places) check_message("sweep", places, message, places)

TEST_SUITE_BEGIN("SweepErrors");

TEST_CASE("KeysOfTheSweepFile") {
    check({
        {"sedes: 3\n", "s.yaml:2: sedes"},
        {"gird: {rounds: [1, 2]}\n", "s.yaml:2: gird"},
        {"early_stopping: {rul: median}\nseeds: 2\n", "s.yaml:2: early_stopping.rul"},
        {"random: {run: 2, draw: {}}\n", "s.yaml:2: random.run"},
        {"zzz: 3\n", "s.yaml:2: zzz"},
        {"rounds: 3\nseeds: 2\n", "s.yaml:2: rounds"},
        {"seeds: 2\ntraining.optimizer.lr: 3\n", "s.yaml:3: training.optimizer.lr"},
        {"seeds: {partition: 3}\n", "s.yaml:2: seeds"},
        {"cases: [{name: a, rounds: 2}, {rounds: 3}, {name: a, rounds: 4}]\n", "s.yaml:2: cases[2].name"},
        {"cases: [{name: [a], rounds: 2}]\n", "s.yaml:2: cases[0].name"},
        {"cases: [{name: '', rounds: 2}]\n", "s.yaml:2: cases[0].name"},
        {"seeds: 2\nseeds: 3\n", "s.yaml:3: seeds"},
        {"seeds: 2\nname: a/b\n", "s.yaml:3: name"},
        {"seeds: 2\ntarget_perplexity: 0.5\n", "s.yaml:3: target_perplexity"},
        {"seeds: 2\ntarget_perplexity: 5\n", "s.yaml:3: target_perplexity"},
        {"seeds: 2\ntarget_top5_accuracy: 0.5\ntarget_accuracy: 0.5\n", "s.yaml:3: target_top5_accuracy"},
        {"seeds: 2\ntarget_accuracy: 90\n", "s.yaml:3: target_accuracy"},
        {"seeds: 2\nmax_runs: 0\n", "s.yaml:3: max_runs"},
    });
}

TEST_CASE("EveryRunThatIsRefusedIsNamed") {
    const SweepFolder folder;
    const std::string told =
        folder.error_of("grid: {strategy.name: [fedavg, fedprox, fedrep, fltrust, ditto], mode.name: [synchronous, async]}\n");
    CAPTURE(told);
    CHECK(told.find("'strategy-fedrep+mode-synchronous' and 1 more") != std::string::npos);
    CHECK(told.find("'strategy-ditto+mode-async'") != std::string::npos);
    CHECK(told.find("fedprox") == std::string::npos);
    CHECK_MESSAGE_IS("config", "four of ten runs", told);
    const std::string of_base = folder.error_of("set: {training.cohort: 400}\nseeds: 30\n");
    CHECK_MESSAGE(of_base.find("(in run 'seed-1' and 29 more)") != std::string::npos, of_base);
    CHECK_MESSAGE(of_base.find("\nrefused: 30 of 30 runs, so none begins: seed-1, ") != std::string::npos, of_base);
    CHECK_MESSAGE(of_base.ends_with("seed-10 and 20 more"), of_base);
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
    CHECK_SWEEP_ERROR_AT(error("seeds: 2\n"), "s.yaml: base");
    CHECK_SWEEP_ERROR_AT(error(""), "s.yaml");
    CHECK_SWEEP_ERROR_AT(error("seeds: 2\nbase: quik.yaml\n"), "s.yaml:2: base");
    CHECK_EQ(error("base: .\nseeds: 2\n").rfind("s.yaml:1: base: ", 0), 0);
    CHECK_SWEEP_ERROR_AT(error("base: [quick.yaml]\nseeds: 2\n"), "s.yaml:1: base");
    check_message("sweep", "a sweep as base", error("seeds: 2\nbase: other.yaml\n"), "s.yaml:2: base");
    CHECK_EQ(error("base: broken.yaml\nseeds: 2\n").rfind("broken.yaml:", 0), 0);
    CHECK_SWEEP_ERROR_AT(error("base: half.yaml\nseeds: 2\n"), "half.yaml:2: model.nam");
    CHECK_THROWS_AS(load_sweep(folder.path() / "none.yaml"), ConfigError);
}

TEST_CASE("NothingVaries") {
    check({{"set: {rounds: 3}\n", "s.yaml"}, {"grid: {}\n", "s.yaml"}, {"zip: {}\n", "s.yaml"}, {"seeds: 1\n", ""}});
}

TEST_CASE("ListsOfValues") {
    check({
        {"grid:\n  rounds: 3\n", "s.yaml:3: grid.rounds"},
        {"grid:\n  rounds: []\n", "s.yaml:3: grid.rounds"},
        {"grid: [rounds]\n", "s.yaml:2: grid"},
        {"grid:\nseeds: 2\n", "s.yaml:2: grid"},
        {"zip:\n  rounds: [1, 2]\n  training.batch_size: [4, 5, 6]\n", "s.yaml:4: zip.training.batch_size"},
        {"zip: {rounds: [], training.batch_size: []}\n", "s.yaml:2: zip.rounds"},
        {"zip: {rounds: 1}\n", "s.yaml:2: zip.rounds"},
        {"cases: []\n", "s.yaml:2: cases"},
        {"cases: {rounds: 3}\n", "s.yaml:2: cases"},
        {"cases:\n- {rounds: 3}\n- 4\n", "s.yaml:4: cases[1]"},
        {"set: 3\nseeds: 2\n", "s.yaml:2: set"},
    });
}

TEST_CASE("Seeds") {
    check({
        {"seeds: 0\n", "s.yaml:2: seeds"},
        {"seeds: many\n", "s.yaml:2: seeds"},
        {"seeds: []\n", "s.yaml:2: seeds"},
        {"seeds:\n- 3\n- 4\n- 3\n", "s.yaml:5: seeds"},
        {"seeds: [1, -2]\n", "s.yaml:2: seed"},
        {"seeds: 3\nset: {seed: 18446744073709551614}\n", "s.yaml:2: seeds"},
        {"seeds: 2\nset:\n  seed: x\n", "s.yaml:4: seed"},
        {"seeds: 2\ngrid:\n  seed: [1, 2]\n", "s.yaml:2: seeds"},
        {"seeds: [2, 3]\nset:\n  seed: 1\n", "s.yaml:4: set.seed"},
    });
}

TEST_CASE("ValuesThatDoNotValidateNameTheSweepsLine") {
    check({
        {"grid:\n  training.optimizer.lr: [0.1, fast]\n", "s.yaml:3: training.optimizer.lr"},
        {"grid:\n  training.optimizer.lr:\n  - 0.1\n  - fast\n", "s.yaml:5: training.optimizer.lr"},
        {"seeds: 2\ngrid:\n  training.optimiser.lr: [0.1]\n", "s.yaml:4: training.optimiser"},
        {"grid:\n  training.optimizer.lrr: [0.1]\n", "s.yaml:3: training.optimizer.lrr"},
        {"set:\n  data:\n    nun_train: 3\nseeds: 2\n", "s.yaml:4: data.nun_train"},
        {"cases:\n- {rounds: 1}\n- strategy: {name: fedporx}\n", "s.yaml:4: strategy.name"},
        {"zip:\n  rounds: [1, 0]\n  training.batch_size: [1, 2]\n", "s.yaml:3: rounds"},
        {"grid:\n  strategy: [fedavg, fedprox]\n", "s.yaml:3: strategy"},
        {"grid:\n  seed.x: [1]\n", "s.yaml:3: seed.x"},
        {"grid:\n  training..lr: [1]\n", "s.yaml:3: grid"},
    });
}

TEST_CASE("CombinationsThatDoNotGoTogetherNameTheRun") {
    check(
        {
            {"grid:\n  data.partition.clients: [4, 2]\nseeds: 2\n", "c.yaml:8: training.cohort\nrefused"},
            {"grid:\n  data.partition.clients: [4, 2]\n  training:\n  - {cohort: 2}\n  - {cohort: 4}\n",
             "s.yaml:6: training.cohort"},
            {"grid:\n  strategy:\n  - {name: fedavg}\n  - {name: median}\n  mode:\n  - {name: synchronous}\n  - {name: "
             "async}\n",
             "s.yaml:8: mode.name"},
            {"grid:\n  mode.name: [synchronous, split]\n", "s.yaml:3: mode.cut"},
            {"grid:\n  data.format: [glyphs, idx]\n", "s.yaml:3: data.root"},
            {"cases:\n- {model: {name: mlp}}\n- {mode: {name: split}, rounds: 3}\n", "s.yaml:4: mode.cut"},
            {"grid:\n  strategy.proximal_mu: [0.1]\n", "s.yaml:3: strategy.proximal_mu"},
            {"set:\n  strategy.name: fedprox\ngrid:\n  strategy.tau: [1]\n", "s.yaml:5: strategy.tau"},
        },
        "training:\n  cohort: 3\n");
}

TEST_CASE("KeysThatVaryTwice") {
    check({
        {"grid:\n  rounds: [1, 2]\nzip:\n  rounds: [3, 4]\n", "s.yaml:5: zip.rounds"},
        {"grid:\n  strategy.weighting: [uniform]\ncases:\n- {rounds: 2}\n- {strategy: {name: fedavg}}\n",
         "s.yaml:6: cases[1].strategy"},
        {"grid:\n  training: [{batch_size: 3}]\nrandom:\n  runs: 2\n  draw:\n    training.batch_size: {uniform: [1, 9]}\n",
         "s.yaml:7: random.draw.training.batch_size"},
        {"grid:\n  rounds: [1]\n  training: {batch_size: [3]}\n  training.batch_size: [4]\n",
         "s.yaml:5: grid.training.batch_size"},
        {"cases:\n- {strategy: {name: fedavg}, strategy.weighting: uniform}\n", "s.yaml:3: cases[0].strategy.weighting"},
        {"set:\n  rounds: 3\n  training.batch_size: 3\ngrid:\n  training.batch_size: [1]\n",
         "s.yaml:4: set.training.batch_size"},
        {"grid:\n  name: [a, b]\n", "s.yaml:3: grid.name"},
    });
}

TEST_CASE("OverridesOfVariedKeys") {
    const SweepFolder folder;
    const std::string text = "grid:\n  training.optimizer.lr: [1]\ncases:\n- {rounds: 3}\nseeds: [1, 2]\n";
    CHECK_EQ(folder.error_of(text, {"workers=2"}), "");
    CHECK_SWEEP_ERROR_AT(folder.error_of(text, {"workers=2", "training.optimizer.lr=3"}),
                         "--set training.optimizer.lr=3: training.optimizer.lr");
    CHECK_SWEEP_ERROR_AT(folder.error_of(text, {"training.optimizer={momentum: 0.5}"}),
                         "--set training.optimizer={momentum: 0.5}: training.optimizer");
    CHECK_SWEEP_ERROR_AT(folder.error_of(text, {"rounds=4"}), "--set rounds=4: rounds");
    CHECK_SWEEP_ERROR_AT(folder.error_of(text, {"seed=4"}), "--set seed=4: seed");
    CHECK_SWEEP_ERROR_AT(folder.error_of(text, {"worker=4"}), "--set worker=4: worker");
}

TEST_CASE("Draws") {
    const SweepFolder folder;
    const auto drawn = [&](const std::string& draw, const std::string& key = "training.optimizer.lr") {
        return folder.error_of("random:\n  runs: 2\n  draw:\n    " + key + ": " + draw + "\n");
    };
    const std::string lr = "s.yaml:5: random.draw.training.optimizer.lr";
    const auto wrong = [&](const std::string& draw, const std::string& place) {
        check_message("sweep", draw, drawn(draw), place);
    };
    wrong("3", lr);
    wrong("[1, 2]", lr);
    wrong("{uniform: [1, 2], choice: [1]}", lr);
    wrong("{loguniform: [1, 2]}", lr);
    wrong("{normal: [1, 2]}", lr);
    wrong("{uniform: [2, 1]}", lr + ".uniform");
    wrong("{uniform: [1, 1]}", lr + ".uniform");
    wrong("{uniform: [1, 2, 3]}", lr + ".uniform");
    wrong("{uniform: 1}", lr + ".uniform");
    wrong("{uniform: [1, x]}", lr + ".uniform[1]");
    wrong("{log_uniform: [0, 1]}", lr + ".log_uniform");
    wrong("{log_uniform: [-1, 1]}", lr + ".log_uniform");
    wrong("{choice: []}", lr + ".choice");
    wrong("{choice: 3}", lr + ".choice");
    wrong("{choice: [fast]}", "s.yaml:5: training.optimizer.lr");
    CHECK_EQ(drawn("{uniform: [-2, -1]}").rfind("s.yaml:5: training.optimizer.lr: ", 0), 0);
    CHECK_SWEEP_ERROR_AT(drawn("{uniform: [1, 2]}", "model.name"), "s.yaml:5: random.draw.model.name.uniform");
    CHECK_SWEEP_ERROR_AT(drawn("{uniform: [1.2, 1.8]}", "rounds"), "s.yaml:5: random.draw.rounds.uniform");
    CHECK_SWEEP_ERROR_AT(drawn("{uniform: [1, 2]}", "training.optimizer.lrr"), "s.yaml:5: training.optimizer.lrr");
    check({
        {"random: {draw: {rounds: {choice: [1]}}}\n", "s.yaml: random.runs"},
        {"random: {runs: 0, draw: {rounds: {choice: [1]}}}\n", "s.yaml:2: random.runs"},
        {"random: {runs: 1}\n", "s.yaml:2: random.draw"},
        {"random: {runs: 1, draw: {}}\n", "s.yaml:2: random.draw"},
        {"random: 4\n", "s.yaml:2: random"},
    });
}

TEST_CASE("MoreRunsThanAllowed") {
    const std::string hundred = "random: {runs: 100, draw: {training.optimizer.lr: {uniform: [0.1, 1]}}}\n";
    const std::string zips = "cases: [{rounds: 1}, {rounds: 2}]\nzip: {training.batch_size: [1, 2, 3]}\n";
    check({
        {hundred + zips + "seeds: 2\n", "s.yaml: max_runs"},
        {hundred + "max_runs: 99\n", "s.yaml:3: max_runs"},
        {hundred + "max_runs: 100\n", ""},
        // Runs are counted before any is created, and without overflow.
        {"random: {runs: 1000000000, draw: {training.optimizer.lr: {uniform: [0.1, 1]}}}\nseeds: 1000000000\nmax_runs: "
         "1000000000\ngrid: {rounds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}\n",
         "s.yaml:4: max_runs"},
    });
}

TEST_CASE("EqualRuns") {
    check({
        {"grid:\n  training.optimizer.lr:\n  - 0.1\n  - 0.2\n  - 1e-1\n", "s.yaml:6: grid.training.optimizer.lr[2]"},
        {"cases:\n- {rounds: 10}\n- {}\nseeds: 2\n", "s.yaml:2: cases[1]"},
        {"seeds: [1, +1]\n", "s.yaml:2: seeds[1]"},
        {"random:\n  runs: 3\n  draw:\n    training.batch_size: {choice: [8, 16]}\n", "s.yaml:5: random[2]"},
    });
}

TEST_CASE("EarlyStopping") {
    const std::string rule = "grid: {training.optimizer.lr: [0.1, 0.2]}\nearly_stopping:\n  rule: halving\n";
    check({
        {rule, ""},
        {rule + "set: {rounds: 4}\n  \n", ""},
        {"seeds: 2\nearly_stopping: {rule: halfing}\n", "s.yaml:3: early_stopping.rule"},
        {rule + "  factor: 1\n", "s.yaml:5: early_stopping.factor"},
        {rule + "  first_round: 0\n", "s.yaml:5: early_stopping.first_round"},
        {"seeds: 2\nearly_stopping: {rule: median, factor: 3}\n", "s.yaml:3: early_stopping.factor"},
        {rule + "  first_round: 4\nset: {rounds: 5}\n", ""},
        {rule + "  first_round: 5\nset: {rounds: 5}\n", "s.yaml:5: early_stopping.first_round"},
        {rule + "set: {rounds: 1}\n", "s.yaml:3: early_stopping.first_round"},
        {rule + "  first_round: 2\nset: {evaluation.every: 3}\n", "s.yaml:5: early_stopping.first_round"},
        {"cases: [{}, {mode: {name: hogwild}}]\nearly_stopping:\n  rule: median\n", "s.yaml:4: early_stopping.rule"},
        {"cases: [{mode: {name: hogwild}}]\nearly_stopping: {rule: none, first_round: 100, factor: 4}\n", ""},
    });
    const std::string wall = "s.yaml:2: early_stopping.rule";
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
