// Keys that the strategy decides: what --set strategy.name leaves of the former one's, and what the new one needs.
#include "sim/config/named_methods.h"
#include "sim/config/sweep_config.h"
#include "tests/sim/config/config_files.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

/// A config with its notes.
LoadedConfig with_notes(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const TemporaryFolder folder;
    return load_config(folder.write("c.yaml", text), overrides);
}

/// Every strategy, in C++ and in Python.
std::vector<std::string> every_strategy() {
    std::vector<std::string> names = names_of(strategy_catalog());
    const std::vector<std::string> methods = names_of_methods();
    names.insert(names.end(), methods.begin(), methods.end());
    return names;
}

bool reads_local(const std::string& name) { return name == "fedrep" || name == "fedbabu" || name == "fedrecon"; }

}  // namespace

TEST_SUITE_BEGIN("Implied");

TEST_CASE("QuickstartRunsByEveryNameAlone") {
    const std::filesystem::path quickstart = fedhive::testing::source_folder() / "configs/quickstart.yaml";
    const std::vector<std::string> names = every_strategy();
    REQUIRE(names.size() >= 112);
    for (const std::string& name : names) {
        CAPTURE(name);
        const std::string named = "strategy.name=" + name;
        if (reads_local(name)) {
            CHECK_THROWS_WITH_AS(load_config(quickstart, {named}),
                                 doctest::Contains("model.local: [\"fc2*\"]; also set data.partition.holdout: 0.2, "
                                                   "evaluation.clients.every: 1; remove stop.test_accuracy"),
                                 ConfigError);
            load_config(quickstart, {named, "model.local=[\"fc2*\"]", "data.partition.holdout=0.2",
                                     "evaluation.clients.every=1", "stop.test_accuracy=null"});
            continue;
        }
        const LoadedConfig given = load_config(quickstart, {named});
        CHECK_EQ(given.run.strategy.title(), name);
        const NamedMethod* method = named_method(name);  // whose file the name stands for
        CHECK_EQ(given.run.strategy.file, method == nullptr ? "" : method->file);
        CHECK_EQ(given.run.strategy.name, method == nullptr ? name : "fedavg");
        CHECK_EQ(given.notes.empty(), name == "fedavg");
        // The method's own keys, as without quickstart's.
        const LoadedConfig own = with_notes(kMinimal, {named, "data.partition.clients=10"});
        CHECK((given.run.strategy.weighting == own.run.strategy.weighting));
        CHECK((given.run.strategy.parts.server.values == own.run.strategy.parts.server.values));
    }
}

TEST_CASE("AnotherNameLeavesTheFilesKeysAndSaysWhich") {
    const std::string file = kMinimal + "strategy: {name: fedavg, weighting: uniform, server_lr: 0.5}\n";
    const LoadedConfig other = with_notes(file, {"strategy.name=fedadam"});
    CHECK((other.run.strategy.weighting == Weighting::Examples));
    CHECK_EQ(other.run.strategy.parts.server.values.number("server_lr"), 0.01);
    REQUIRE_EQ(other.notes.size(), 1);
    CHECK_MESSAGE(
        other.notes[0].ends_with("c.yaml:7 went with 'fedavg' and do not apply to 'fedadam'; to have them, use --set"),
        other.notes[0]);
    CHECK_MESSAGE(other.notes[0].starts_with("strategy.weighting, strategy.server_lr of "), other.notes[0]);

    const LoadedConfig kept = with_notes(file, {"strategy.server_lr=0.25", "strategy.name=fedadam"});
    CHECK_EQ(kept.run.strategy.parts.server.values.number("server_lr"), 0.25);
    CHECK_EQ(kept.notes.size(), 1);
}

TEST_CASE("TheSameNameLeavesNothing") {
    const std::string file = kMinimal + "strategy: {name: fedavg, weighting: uniform}\n";
    for (const char* same : {"strategy.name=fedavg", "strategy.name='fedavg'"}) {
        const LoadedConfig config = with_notes(file, {same});
        CHECK((config.run.strategy.weighting == Weighting::Uniform));
        CHECK(config.notes.empty());
    }
    const LoadedConfig back = with_notes(file, {"strategy.name=fedadam", "strategy.name=fedavg"});
    CHECK((back.run.strategy.weighting == Weighting::Uniform));
    // A file without a name has fedavg.
    CHECK(with_notes(kMinimal + "strategy: {weighting: uniform}\n", {"strategy.name=fedavg"}).notes.empty());
    CHECK_EQ(with_notes(kMinimal + "strategy: {weighting: uniform}\n", {"strategy.name=median"}).notes.size(), 1);
}

TEST_CASE("AContradictionOfOnesOwnIsRefused") {
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: feddyn, weighting: examples}\n"), "c.yaml:7: strategy.weighting");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: fedavg, weighting: uniform}\n",
                            {"strategy.name=feddyn", "strategy.weighting=examples"}),
                   "--set strategy.weighting=examples: strategy.weighting");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: fedavg, proximal_mu: 1}\n"), "c.yaml:7: strategy.proximal_mu");
}

TEST_CASE("RunsOfASweepDoTheSame") {
    const TemporaryFolder folder;
    folder.write("base.yaml", kMinimal + "strategy: {name: fedavg, weighting: uniform, server_lr: 0.5}\n");
    const SweepConfig sweep = load_sweep(folder.write(
        "s.yaml", "base: base.yaml\nset: {strategy.weighting: examples}\ngrid: {strategy.name: [fedavg, fedadam, fedprox]}\n"));
    REQUIRE_EQ(sweep.runs.size(), 3);
    CHECK_EQ(sweep.runs[0].config.strategy.parts.server.values.number("server_lr"), 0.5);
    CHECK_EQ(sweep.runs[1].config.strategy.parts.server.values.number("server_lr"), 0.01);
    CHECK(sweep.runs[0].notes.empty());
    for (const std::size_t other : {1U, 2U}) {
        REQUIRE_EQ(sweep.runs[other].notes.size(), 1);
        CHECK(sweep.runs[other].notes[0].starts_with("strategy.server_lr of "));  // the sweep's own weighting stays
    }
}

TEST_CASE("ScaffoldTakesTheOptionOfTheOptimizer") {
    const auto option = [](const std::string& more) {
        const LoadedConfig config = with_notes(kMinimal + more);
        const std::int64_t chosen =
            completed(config.run.strategy.parts.local.values, local_rule_of(config.run.strategy.parts).keys).integer("option");
        CHECK_EQ(config.notes.size(), chosen == 1 && more.find("option") == std::string::npos ? 1 : 0);
        return chosen;
    };
    const std::string scaffold = "strategy: {name: scaffold}\n";
    CHECK_EQ(option(scaffold), 2);
    CHECK_EQ(option(scaffold + "training: {optimizer: {name: sgd, momentum: 0.5}}\n"), 1);
    CHECK_EQ(option(scaffold + "training: {optimizer: {name: adam}}\n"), 1);
    CHECK_EQ(option("strategy: {name: scaffold, option: 1}\n"), 1);
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: scaffold, option: 2}\ntraining: {optimizer: {momentum: 0.5}}\n"),
                   "c.yaml:8: training.optimizer.momentum");
}

TEST_CASE("DpFtrlClipsWhereNoChainIsGiven") {
    const LoadedConfig config = with_notes(kMinimal + "strategy: {name: dp_ftrl}\n");
    REQUIRE_EQ(config.run.upload.size(), 1);
    CHECK_EQ(config.run.upload[0].name, "clip");
    CHECK_EQ(config.run.upload[0].values.number("norm"), 1.0);
    CHECK_EQ(config.notes,
             std::vector<std::string>{"upload: clip to norm 1, since the noise of server 'dp_ftrl' depends on the norm"});
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: dp_ftrl}\nupload: []\n"), "c.yaml:8: upload");
}

TEST_CASE("TheResolvedConfigSaysWhatWasTaken") {
    for (const std::string name : {"scaffold", "fltrust", "dp_ftrl"}) {
        CAPTURE(name);
        const LoadedConfig config =
            with_notes(kMinimal + "training: {optimizer: {momentum: 0.5}}\n", {"strategy.name=" + name});
        REQUIRE_EQ(config.notes.size(), 1);
        const LoadedConfig again = with_notes(to_yaml(config.run));
        CHECK(again.notes.empty());
        CHECK_EQ(to_yaml(again.run), to_yaml(config.run));
    }
}

TEST_SUITE_END();
