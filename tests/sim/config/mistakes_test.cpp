// Several mistakes in a config: all are reported, except consequences of another one.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("Mistakes");

TEST_CASE("AllMistakesAreToldInTheOrderOfTheirLines") {
    CHECK_EQ(
        error_of(
            "rounds: 0\nsed: 1\ndata: {format: glyphs, root: x}\ntraining:\n  batch_size: fast\n  cohort: 2\n  cohorts: 3\n",
            {"workers=many"}),
        "c.yaml:1: rounds: 0 is out of range; allowed: 1 to 1e9\n"
        "c.yaml:2: sed: unknown key; did you mean 'seed'?\n"
        "c.yaml:3: data.root: 'root' belongs to format " +
            formats_with("root") +
            "; the format here is 'glyphs'; known keys: format, num_train, "
            "num_test, "
            "shared, normalize, augment, skew, partition\n"
            "c.yaml:5: training.batch_size: wants an integer, found 'fast'; allowed: 1 to 1e9\n"
            "c.yaml:7: training.cohorts: unknown key; did you mean 'cohort'?\n"
            "--set workers=many: workers: wants an integer, found 'many'; allowed: auto, 0 to 1024\n"
            "c.yaml: model.name: is missing; allowed: " +
            models() + "; or give layers or file");
    // Keys that exclude each other are reported one by one.
    CHECK_EQ(
        error_of(
            kMinimal +
            "name: a/b\ntraining:\n  cohort: 5\nstrategy: {server_lr: 0.5}\nmode: {name: async}\nfailures: {min_updates: 2}\n"),
        "c.yaml:7: name: 'a/b' cannot name a folder; allowed: 1 to 100 of A-Z a-z 0-9 . _ -, not beginning with . or -\n"
        "c.yaml:9: training.cohort: 5 is more than data.partition.clients; allowed: 1 to 4\n"
        "c.yaml:10: strategy.server_lr: mode async has no server rate, mode.alpha takes its place; allowed: 1\n"
        "c.yaml:12: failures.min_updates: 2 is more than arrive in a round; allowed: 1 to 1");
}

TEST_CASE("WhatAnotherMistakeExplainsIsNotTold") {
    CHECK_EQ(error_of("data: {format: glyphs}\nmodle: {name: lr}\n"), "c.yaml:2: modle: unknown key; did you mean 'model'?");
    CHECK_EQ(error_of("data: {formt: glyphs}\nmodel: {name: lr}\n"),
             "c.yaml:1: data.formt: unknown key; did you mean 'format'?");
    CHECK_EQ(error_of("data: {format: glyphs}\nmodel: mlp\n"),
             "c.yaml:2: model: wants keys below it, found 'mlp'; write model: {name: mlp}");
    CHECK_EQ(error_of("data: {format: idxx, root: x}\nmodel: {name: lr}\n"),
             "c.yaml:1: data.format: unknown value 'idxx'; allowed: " + data_formats() + "; did you mean 'idx'?");
    CHECK_EQ(error_of("data: {format: glyphs}\nmodel: {nmae: mlp, hidden: 3}\n"),
             "c.yaml:2: model.nmae: unknown key; did you mean 'name'?");
}

TEST_CASE("MistakesBeyondTwentyAreCounted") {
    std::string text = kMinimal;
    for (int i = 0; i < 23; ++i) text += fmt::format("zzzzz{:02}: 1\n", i);
    const std::string error = error_of(text);
    CHECK_EQ(std::count(error.begin(), error.end(), '\n'), 20);
    CHECK_NE(error.find("c.yaml:26: zzzzz19: unknown key"), std::string::npos);
    CHECK_EQ(error.find("zzzzz20"), std::string::npos);
    CHECK(error.ends_with("\nand 3 more"));
    const std::string broken = error_of(kMinimal + "\"a\\nb\": 1\n");  // a mistake is one line, whatever it contains
    CHECK_EQ(broken.find('\n'), std::string::npos);
    CHECK_NE(broken.find("a?b: unknown key"), std::string::npos);
}

TEST_CASE("WhatTheModeLacksHidesNothingElse") {
    const std::string missing = "c.yaml: mode.cut: is missing; mode 'split' needs it";
    CHECK_EQ(error_of(kMinimal + "mode: {name: split}\n"), missing);
    CHECK_EQ(error_of(kMinimal + "strategy: {name: scaffold}\nmode: {name: split}\ntraining: {graph: true}\n"),
             "c.yaml:8: mode.name: strategy 'scaffold' does not run in mode 'split'; allowed: synchronous\n"
             "c.yaml:9: training.graph: a step that two processes share cannot be recorded; allowed in mode split: false\n" +
                 missing);
}

TEST_SUITE_END();
