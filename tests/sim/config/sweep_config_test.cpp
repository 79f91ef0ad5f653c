// Results of loading sweep files: runs, their order and names.
#include "sim/config/sweep_ids.h"
#include "tests/sim/config/sweep_files.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

using Texts = std::vector<std::string>;

const std::filesystem::path kSweeps = fedhive::testing::source_folder() / "configs/sweeps";

}  // namespace

TEST_SUITE_BEGIN("SweepConfig");

TEST_CASE("GridVariesItsLastKeyFastestAndSeedsFastestOfAll") {
    const SweepFolder folder;
    const SweepConfig sweep =
        folder.load("seeds: 2\ngrid:\n  training.optimizer.lr: [0.1, 1e-2]\n  data.partition.clients: [4, 10]\n");
    CHECK_EQ(sweep.name, "s");
    CHECK_EQ(sweep.file, folder.folder.path() / "s.yaml");
    CHECK_EQ(sweep.keys, Texts{"training.optimizer.lr", "data.partition.clients"});
    CHECK_EQ(ids_of(sweep), Texts{"lr-0.1+clients-4+seed-1", "lr-0.1+clients-4+seed-2", "lr-0.1+clients-10+seed-1",
                                  "lr-0.1+clients-10+seed-2", "lr-0.01+clients-4+seed-1", "lr-0.01+clients-4+seed-2",
                                  "lr-0.01+clients-10+seed-1", "lr-0.01+clients-10+seed-2"});
    const SweepRun& run = sweep.runs[6];
    CHECK_EQ(run.config.training.optimizer.values.number("lr"), 0.01);
    CHECK_EQ(run.config.data.partition.clients, 10);
    CHECK_EQ(run.config.training.cohort, 10);
    CHECK_EQ(run.config.seed, 1);
    CHECK_EQ(run.config.name, "c");
    CHECK_EQ(values_of(run), Texts{"0.01", "10"});
    CHECK_FALSE(sweep.targets.of("accuracy").has_value());
    CHECK(sweep.early_stopping.rule == StoppingRule::None);
}

TEST_CASE("AllBlocksAreMultipliedInFileOrder") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "name: all\n"
        "seeds: [7, 3]\n"
        "cases: [{strategy: {name: fedprox, proximal_mu: 0.5}}, {strategy: {name: fedavg}}]\n"
        "zip: {training.batch_size: [16, 32, 64], training.local_epochs: [1, 2, 4]}\n"
        "random: {runs: 2, draw: {training.optimizer.momentum: {uniform: [0, 0.9]}}}\n"
        "grid: {model.name: [lr, mlp]}\n"
        "set: {rounds: 5}\ntarget_accuracy: 0.75\nearly_stopping: {rule: halving, first_round: 2, factor: 4}\n");
    CHECK_EQ(sweep.name, "all");
    CHECK_EQ(sweep.targets.of("accuracy"), 0.75);
    CHECK(sweep.early_stopping.rule == StoppingRule::Halving);
    CHECK_EQ(sweep.early_stopping.first_round, 2);
    CHECK_EQ(sweep.early_stopping.factor, 4);
    CHECK_EQ(sweep.keys, Texts{"strategy.name", "strategy.proximal_mu", "training.batch_size", "training.local_epochs",
                               "training.optimizer.momentum", "model.name"});
    REQUIRE_EQ(sweep.runs.size(), 2 * 3 * 2 * 2 * 2);
    std::set<std::string> ids;
    for (const SweepRun& run : sweep.runs) {
        ids.insert(run.id);
        CHECK_EQ(run.config.rounds, 5);
        CHECK_LE(run.id.size(), 100);
    }
    CHECK_EQ(ids.size(), sweep.runs.size());
    const std::string momentum = sweep.runs[0].settings[4].value;
    CHECK_EQ(sweep.runs[0].id,
             "strategy-fedprox+proximal_mu-0.5+batch_size-16+local_epochs-1+momentum-" + momentum + "+model-lr+seed-7");
    CHECK_EQ(values_of(sweep.runs[1]), values_of(sweep.runs[0]));
    CHECK_EQ(sweep.runs[1].config.seed, 3);
    CHECK_EQ(values_of(sweep.runs[2]), Texts{"fedprox", "0.5", "16", "1", momentum, "mlp"});
    CHECK_EQ(sweep.runs[4].settings[4].value, sweep.runs[6].settings[4].value);
    CHECK_NE(sweep.runs[4].settings[4].value, momentum);
    CHECK_EQ(values_of(sweep.runs[8]), Texts{"fedprox", "0.5", "32", "2", momentum, "lr"});
    CHECK_EQ(values_of(sweep.runs[24]), Texts{"fedavg", "", "16", "1", momentum, "lr"});
    CHECK_EQ(sweep.runs[24].id.find("proximal_mu"), std::string::npos);
}

TEST_CASE("CaseWithANameIsCalledSoInFoldersTooAndIsTheSameRun") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "cases: [{name: small, training.batch_size: 4}, {name: 'large, very', training.batch_size: 64}, {}]\nseeds: 2\n");
    const SweepConfig nameless = folder.load("cases: [{training.batch_size: 4}, {training.batch_size: 64}, {}]\nseeds: 2\n");
    CHECK_EQ(sweep.keys, Texts{"training.batch_size"});
    CHECK_EQ(ids_of(sweep), Texts{"small+seed-1", "small+seed-2", "large_very+seed-1", "large_very+seed-2",
                                  "batch_size-32+seed-1", "batch_size-32+seed-2"});
    CHECK_EQ(sweep.runs[0].case_name, "small");
    CHECK_EQ(sweep.runs[3].case_name, "large, very");
    CHECK_EQ(sweep.runs[4].case_name, "");
    for (std::size_t i = 0; i < sweep.runs.size(); ++i) {
        CHECK_EQ(nameless.runs[i].case_name, "");
        CHECK_EQ(to_yaml(sweep.runs[i].config), to_yaml(nameless.runs[i].config));
    }
}

TEST_CASE("NameOfACaseStandsForTheKeysThatCasesGiveAndForNoOthers") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "grid: {training.optimizer.lr: [0.5]}\n"
        "cases:\n- {name: '(Fed) Avg, ours!', strategy: {name: fedavg}}\n- {name: ../up, strategy: {name: fedprox, "
        "proximal_mu: 0.1}}\n"
        "- {name: é, rounds: 3}\nzip: {training.batch_size: [8]}\n");
    const Texts ids = ids_of(sweep);
    REQUIRE_EQ(ids.size(), 3);
    CHECK_EQ(ids[0], "lr-0.5+Fed_Avg_ours+batch_size-8");
    CHECK_EQ(ids[1], "lr-0.5+up+batch_size-8");
    CHECK_EQ(ids[2].rfind("lr-0.5+case+batch_size-8-", 0), 0);  // nothing fits completely
    for (const std::string& id : ids) CHECK_EQ(run_id_problem(id), "");
    // A single case, and two that give the same folder name.
    CHECK_EQ(ids_of(folder.load("cases: [{name: plain}]\nseeds: 2\n")), Texts{"plain+seed-1", "plain+seed-2"});
    const Texts alike = ids_of(folder.load("cases: [{name: a b, rounds: 3}, {name: a_b, rounds: 4}]\n"));
    CHECK_EQ(alike[0].rfind("a_b-", 0), 0);
    CHECK_EQ(alike[1].rfind("a_b-", 0), 0);
    CHECK_NE(alike[0], alike[1]);
}

TEST_CASE("NoIdNeedsQuotesInAShell") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "grid: {data.partition.sizes: [[0.5, 0.2, 0.2, 0.1], null], devices.trace: [null, '/a b (c)/*'], strategy: [{name: "
        "fedavg, "
        "server_lr: 1.5}]}\nset: {stop.test_accuracy: 1e-20}\nseeds: 2\n");
    for (const std::string& id : ids_of(sweep)) {
        CAPTURE(id);
        CHECK_EQ(id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+"), std::string::npos);
        CHECK_EQ(run_id_problem(id), "");
    }
    CHECK_EQ(ids_of(sweep)[0], "sizes-0.5_0.2_0.2_0.1+strategy-fedavg+server_lr-1.5+seed-1");
}

TEST_CASE("IdsThatLeadElsewhereAreNone") {
    for (const char* id : {"", ".", "..", "../x", "a/b", "/etc", "a b", "-x", "a\nb", "\x1b[2J", "\xC3\xA9"}) {
        CAPTURE(id);
        CHECK_NE(run_id_problem(id).find("is not a valid run name; allowed: 1 to 100 "), std::string::npos);
    }
    CHECK_EQ(run_id_problem("a\x1b").substr(0, 4), "'a?'");
    CHECK_EQ(run_id_problem(std::string(100, 'a')), "");
    CHECK_NE(run_id_problem(std::string(101, 'a')), "");
    CHECK_EQ(run_id_problem("lr=0.1,clients=10,seed=2"), "");
    CHECK_EQ(run_id_problem("lr-0.1+clients-10+seed-2"), "");
}

TEST_CASE("EveryRunsResolvedConfigGivesTheSameConfig") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "cases:\n- strategy: {name: fedprox, proximal_mu: 0.1}\n- {mode: {name: async, alpha: 0.5}, clock: wall}\n- {}\n"
        "random: {runs: 5, draw: {training.optimizer.lr: {log_uniform: [1e-6, 1]}, data.separation: {uniform: [1, 3]}}}\n"
        "set: {data: {format: synthetic}}\nseeds: 2\n");
    REQUIRE_EQ(sweep.runs.size(), 30);
    for (const SweepRun& run : sweep.runs) {
        const std::string yaml = to_yaml(run.config);
        const RunConfig again = load_config(folder.folder.write("again.yaml", yaml)).run;
        CHECK_EQ(to_yaml(again), yaml);
        CHECK(changes(run.config, again).empty());
    }
}

TEST_CASE("SetChangesTheBaseByKeysAndOverridesWinOverIt") {
    const SweepFolder folder("training: {batch_size: 4}\nstop: {test_accuracy: 0.5}\n");
    const std::string text =
        "set:\n  training: {optimizer: {momentum: 0.5}, local_epochs: 3}\n  training.cohort: 2\n  rounds: 4\n"
        "  stop.test_accuracy: null\ngrid: {training: {optimizer: {lr: [1, 2]}}}\n";
    for (const SweepRun& run : folder.load(text, {"rounds=9", "rounds=8"}).runs) {
        CHECK_EQ(run.config.training.batch_size, 4);
        CHECK_EQ(run.config.training.optimizer.values.number("momentum"), 0.5);
        CHECK_EQ(run.config.training.local_epochs, 3);
        CHECK_EQ(run.config.training.cohort, 2);
        CHECK_FALSE(run.config.stop.test.of("accuracy").has_value());
        CHECK_EQ(run.config.rounds, 8);
    }
    CHECK_EQ(ids_of(folder.load(text)), Texts{"lr-1", "lr-2"});
}

TEST_CASE("SectionAsAValueReplacesTheSection") {
    const SweepFolder folder("training: {batch_size: 4, optimizer: {lr: 0.5, momentum: 0.25}}\n");
    const SweepConfig sweep = folder.load("grid: {training.optimizer: [{lr: 0.125}, {momentum: 0.5}]}\n");
    CHECK_EQ(sweep.keys, Texts{"training.optimizer.lr", "training.optimizer.momentum"});
    CHECK_EQ(ids_of(sweep), Texts{"lr-0.125+momentum-0", "lr-0.01+momentum-0.5"});
    CHECK_EQ(sweep.runs[0].config.training.batch_size, 4);
}

TEST_CASE("SeedsCountOnFromTheBasesSeed") {
    const SweepFolder folder;
    const auto seeds = [&](const std::string& text, const Texts& overrides = {}) {
        std::vector<std::uint64_t> all;
        for (const SweepRun& run : folder.load(text, overrides).runs) all.push_back(run.config.seed);
        return all;
    };
    using Seeds = std::vector<std::uint64_t>;
    CHECK_EQ(seeds("seeds: 3\n"), Seeds{1, 2, 3});
    CHECK_EQ(seeds("seeds: 2\nset: {seed: 40}\n"), Seeds{40, 41});
    CHECK_EQ(seeds("seeds: 2\nset: {seed: 40}\n", {"seed=50"}), Seeds{50, 51});
    CHECK_EQ(seeds("seeds: 2\n", {"seed=null"}), Seeds{1, 2});
    CHECK_EQ(seeds("seeds: 2\n", {"seed=+6"}), Seeds{6, 7});
    CHECK_EQ(seeds("seeds: 2\n", {"seed=18446744073709551614"}), Seeds{18446744073709551614ULL, 18446744073709551615ULL});
    CHECK_EQ(seeds("seeds: [18446744073709551615, 0]\n"), Seeds{18446744073709551615ULL, 0});
    CHECK_EQ(seeds("grid: {seed: [5, 6]}\n"), Seeds{5, 6});
}

TEST_CASE("MethodFilesThatANameFindsAreCalledByIt") {
    const SweepConfig sweep = SweepFolder().load("grid: {strategy.name: [fedavg, moon, ditto]}\n");
    std::vector<std::string> ids, names;
    for (const SweepRun& run : sweep.runs) {
        ids.push_back(run.id);
        names.push_back(run.settings.front().value);
    }
    CHECK(ids == std::vector<std::string>{"strategy-fedavg", "strategy-moon", "strategy-ditto"});
    CHECK(names == std::vector<std::string>{"fedavg", "moon", "ditto"});
}

TEST_CASE("SeedIsInTheIdWhereThereAreSeveral") {
    const SweepFolder folder;
    CHECK_EQ(ids_of(folder.load("seeds: 2\n")), Texts{"seed-1", "seed-2"});
    CHECK_EQ(ids_of(folder.load("seeds: [8]\n")), Texts{"seed-8"});
    CHECK_EQ(ids_of(folder.load("seeds: 1\ngrid: {rounds: [3]}\n")), Texts{"rounds-3"});
    CHECK_EQ(ids_of(folder.load("grid: {seed: [2, 3], rounds: [4]}\n")), Texts{"rounds-4+seed-2", "rounds-4+seed-3"});
    CHECK(folder.load("grid: {seed: [2, 3]}\n").keys.empty());
}

TEST_CASE("PartsOfTheRandomnessVaryByTheirOwnSeeds") {
    const SweepFolder folder("seeds: {data: 5}\n");
    const SweepConfig sweep = folder.load("grid: {seeds.partition: [1, 2]}\nseeds: 2\n");
    CHECK_EQ(sweep.keys, Texts{"seeds.partition"});
    CHECK_EQ(ids_of(sweep), Texts{"seeds.partition-1+seed-1", "seeds.partition-1+seed-2", "seeds.partition-2+seed-1",
                                  "seeds.partition-2+seed-2"});
    const Seeds seeds = sweep.runs[3].config.all_seeds();
    CHECK_EQ(seeds.data, 5);
    CHECK_EQ(seeds.partition, 2);
    CHECK_EQ(seeds.model, 2);
    CHECK_EQ(sweep.runs[2].config.all_seeds().model, 1);
    CHECK_EQ(folder.load("set: {seeds.training: 9}\nseeds: 2\n").runs[1].config.all_seeds().training, 9);
}

TEST_CASE("IdsDoNotChangeWithWhatElseIsTried") {
    const SweepFolder folder;
    const Texts few =
        ids_of(folder.load("grid: {training.batch_size: [8, 16]}\n"
                           "random: {runs: 3, draw: {training.optimizer.lr: {log_uniform: [0.001, 1]}}}\n"));
    const Texts more =
        ids_of(folder.load("random: {runs: 9, draw: {training.optimizer.lr: {log_uniform: [0.001, 1]}}}\n"
                           "grid: {training.batch_size: [4, 16, 8]}\n"));
    CHECK_EQ(more.size(), 27);
    // The keys' order depends on the file; this undoes it.
    const auto turned = [](const std::string& id) {
        const std::size_t plus = id.find('+');
        return id.substr(plus + 1) + "+" + id.substr(0, plus);
    };
    for (const std::string& id : few) CHECK_EQ(std::count(more.begin(), more.end(), turned(id)), 1);
}

TEST_CASE("ShortNamesAreAsLongAsNeeded") {
    CHECK_EQ(short_names({"training.optimizer.lr", "data.partition.clients"}), Texts{"lr", "clients"});
    CHECK_EQ(short_names({"strategy.name", "model.name", "training.optimizer.name", "rounds"}),
             Texts{"strategy", "model", "optimizer", "rounds"});
    CHECK_EQ(short_names({"evaluation.every", "checkpoint.every", "rounds"}),
             Texts{"evaluation.every", "checkpoint.every", "rounds"});
    CHECK_EQ(short_names({"devices.compute.distribution", "devices.link.distribution", "devices.trace",
                          "devices.availability.trace", "name"}),
             Texts{"compute.distribution", "link.distribution", "devices.trace", "availability.trace", "name"});
}

TEST_CASE("IdsFitIntoAFoldersName") {
    CHECK_EQ(run_id({"mean"}, {{"data.normalize.mean", "[0.5, 0.25]"}}, 1, false), "mean-0.5_0.25");
    CHECK_EQ(run_id({"name"}, {{"name", "\"auto\""}}, 1, false), "name-auto");
    CHECK_EQ(run_id({"a", "b"}, {{"a", ""}, {"b", "1e-05"}}, 1, false), "b-1e-05");
    CHECK_EQ(run_id({"a"}, {{"a", ""}}, 4, false), "seed-4");
    const std::string path = run_id({"trace"}, {{"devices.trace", "/a b"}}, 1, false);
    CHECK_EQ(path.rfind("trace-_a_b-", 0), 0);
    CHECK_EQ(path.size(), std::string("trace-_a_b-12345678").size());
    CHECK_NE(path, run_id({"trace"}, {{"devices.trace", "/a/b"}}, 1, false));
    const std::string fits = "a-" + std::string(98, 'x');
    CHECK_EQ(run_id({"a"}, {{"k", fits.substr(2)}}, 1, false), fits);
    const std::string cut = run_id({"a"}, {{"k", fits.substr(2) + "y"}}, 1, false);
    CHECK_EQ(cut.size(), 100);
    CHECK_EQ(cut.substr(0, 92), fits.substr(0, 91) + "-");
    CHECK_NE(cut, run_id({"a"}, {{"k", fits.substr(2) + "z"}}, 1, false));
}

TEST_CASE("RunsWithTheSameSettingsInOtherSectionsHaveTheirOwnIds") {
    const SweepFolder folder("stop: {test_accuracy: 0.5}\nstrategy: {name: fedavg, weighting: uniform}\n");
    const SweepConfig stop = folder.load("cases: [{stop: null}, {}]\n");
    CHECK_EQ(stop.keys, Texts{"stop.test_accuracy"});
    CHECK_EQ(ids_of(stop), Texts{"seed-1", "test_accuracy-0.5"});
    const Texts strategy = ids_of(folder.load("cases: [{strategy: {name: fedavg}}, {}]\n"));
    CHECK_EQ(strategy[0].rfind("strategy-fedavg-", 0), 0);
    CHECK_EQ(strategy[1].rfind("strategy-fedavg-", 0), 0);
    CHECK_NE(strategy[0], strategy[1]);
}

TEST_CASE("ListsCanVary") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "grid:\n  data.normalize: [{mean: [0.5], std: [0.25]}, {}]\n"
        "  faults: [[], [{kind: drop, rate: 0.5}, {kind: nan, client: 1}]]\n");
    CHECK_EQ(sweep.keys, Texts{"data.normalize.mean", "data.normalize.std", "faults"});
    REQUIRE_EQ(sweep.runs.size(), 4);
    CHECK_EQ(sweep.runs[0].id, "mean-0.5+std-0.25");
    CHECK_EQ(values_of(sweep.runs[0]), Texts{"[0.5]", "[0.25]", ""});
    CHECK_EQ(values_of(sweep.runs[3]),
             Texts{"", "", "[{kind: drop, rate: 0.5, attempts: first}, {kind: nan, client: 1, rate: 1, attempts: first}]"});
    CHECK_EQ(sweep.runs[2].id, "seed-1");
    CHECK_EQ(sweep.runs[3].config.faults.size(), 2);
}

TEST_CASE("PathsAreRelativeToTheFileTheyStandIn") {
    const SweepFolder folder;
    std::filesystem::create_directories(folder.folder.path() / "deep/er");
    folder.folder.write("c.yaml", "data: {format: idx, root: base_data}\nmodel: {name: lr, init: b.safetensors}\n");
    const auto file = folder.folder.write(
        "deep/er/s.yaml", "base: ../../c.yaml\nset: {model.init: set.safetensors}\ngrid: {data.root: [x, ../y, /z]}\n");
    const SweepConfig sweep = load_sweep(file, {"devices.trace=over.csv"});
    CHECK_EQ(sweep.runs[0].config.data.values.path("root"), folder.folder.path() / "deep/er/x");
    CHECK_EQ(sweep.runs[1].config.data.values.path("root"), folder.folder.path() / "deep/y");
    CHECK_EQ(sweep.runs[2].config.data.values.path("root"), "/z");
    CHECK_EQ(sweep.runs[0].config.model.init, folder.folder.path() / "deep/er/set.safetensors");
    CHECK_EQ(sweep.runs[0].config.devices.trace, std::filesystem::current_path() / "over.csv");
    CHECK_EQ(load_sweep(folder.folder.write("deep/er/t.yaml", "base: ../../c.yaml\nseeds: 2\n"))
                 .runs[1]
                 .config.data.values.path("root"),
             folder.folder.path() / "base_data");
}

TEST_CASE("WorkersCountAsGivenWhereTheSweepOrAnOverrideSaysANumber") {
    const SweepFolder folder("workers: 3\n");
    const auto given = [&](const std::string& text, const Texts& overrides = {}) {
        const SweepConfig sweep = folder.load(text, overrides);
        return std::pair(sweep.runs[0].workers_given, sweep.runs[0].config.workers.value_or(-1));
    };
    CHECK_EQ(given("seeds: 1\n"), std::pair(false, std::int64_t{3}));
    CHECK_EQ(given("seeds: 1\nset: {workers: 2}\n"), std::pair(true, std::int64_t{2}));
    CHECK_EQ(given("seeds: 1\nset: {workers: auto}\n"), std::pair(false, std::int64_t{-1}));
    CHECK_EQ(given("grid: {workers: [4]}\n"), std::pair(true, std::int64_t{4}));
    CHECK_EQ(given("seeds: 1\n", {"workers=5"}), std::pair(true, std::int64_t{5}));
    CHECK_EQ(given("seeds: 1\n", {"workers=null"}), std::pair(false, std::int64_t{-1}));
}

TEST_CASE("SourceNamesTheSweepsLine") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load("set:\n  rounds: 4\ngrid:\n  training.batch_size:\n  - 8\n  - 16\n");
    const auto text = [&](const std::string& key) {
        return folder.without_folder(sweep.runs[1].source->error(key, "is bad").what());
    };
    CHECK_EQ(text("training.batch_size"), "s.yaml:7: training.batch_size: is bad");
    CHECK_EQ(text("rounds"), "s.yaml:3: rounds: is bad");
    CHECK_EQ(text("model.name"), "c.yaml:6: model.name: is bad");
}

TEST_CASE("EveryFileInConfigsSweepsLoads") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kSweeps)) {
        CAPTURE(entry.path());
        CHECK_GE(load_sweep(entry.path()).runs.size(), 3);
        ++files;
    }
    CHECK_GE(files, 2);
    CHECK_EQ(ids_of(load_sweep(kSweeps / "smoke.yaml")),
             Texts{"lr-0.02+seed-1", "lr-0.02+seed-2", "lr-0.1+seed-1", "lr-0.1+seed-2"});
    const SweepConfig mnist = load_sweep(kSweeps / "mnist_lr_clients.yaml");
    CHECK_EQ(mnist.runs.size(), 24);
    CHECK_FALSE(mnist.runs[0].workers_given);
    for (const SweepRun& run : mnist.runs) CHECK_EQ(run.config.cohort_size(), run.config.data.partition.clients);
}

TEST_SUITE_END();
