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
    CHECK_ERROR_AT(
        error_of(
            "rounds: 0\nsed: 1\ndata: {format: glyphs, root: x}\ntraining:\n  batch_size: fast\n  cohort: 2\n  cohorts: 3\n",
            {"workers=many"}),
        "c.yaml:1: rounds\nc.yaml:2: sed\nc.yaml:3: data.root\nc.yaml:5: training.batch_size\nc.yaml:7: "
        "training.cohorts\n--set workers=many: workers\nc.yaml: model.name");
    // Keys that exclude each other are reported one by one.
    CHECK_ERROR_AT(
        error_of(
            kMinimal +
            "name: a/b\ntraining:\n  cohort: 5\nstrategy: {server_lr: 0.5}\nmode: {name: async}\nfailures: {min_updates: 2}\n"),
        "c.yaml:7: name\nc.yaml:9: training.cohort\nc.yaml:10: strategy.server_lr\nc.yaml:12: failures.min_updates");
}

TEST_CASE("WhatAnotherMistakeExplainsIsNotTold") {
    CHECK_ERROR_AT(error_of("data: {format: glyphs}\nmodle: {name: lr}\n"), "c.yaml:2: modle");
    CHECK_ERROR_AT(error_of("data: {formt: glyphs}\nmodel: {name: lr}\n"), "c.yaml:1: data.formt");
    CHECK_ERROR_AT(error_of("data: {format: glyphs}\nmodel: mlp\n"), "c.yaml:2: model");
    CHECK_ERROR_AT(error_of("data: {format: idxx, root: x}\nmodel: {name: lr}\n"), "c.yaml:1: data.format");
    CHECK_ERROR_AT(error_of("data: {format: glyphs}\nmodel: {nmae: mlp, hidden: 3}\n"), "c.yaml:2: model.nmae");
}

TEST_CASE("MistakesBeyondTwentyAreCounted") {
    std::string text = kMinimal;
    for (int i = 0; i < 23; ++i) text += fmt::format("zzzzz{:02}: 1\n", i);
    const std::string error = error_of(text);
    CHECK_EQ(std::count(error.begin(), error.end(), '\n'), 20);
    CHECK_NE(error.find("c.yaml:26: zzzzz19"), std::string::npos);
    CHECK_EQ(error.find("zzzzz20"), std::string::npos);
    CHECK(error.ends_with("\nand 3 more"));
    const std::string broken = error_of(kMinimal + "\"a\\nb\": 1\n");  // a mistake is one line, whatever it contains
    CHECK_EQ(broken.find('\n'), std::string::npos);
    CHECK_NE(broken.find("a?b: unknown key"), std::string::npos);
}

TEST_CASE("WhatTheModeLacksHidesNothingElse") {
    CHECK_ERROR_AT(error_of(kMinimal + "mode: {name: split}\n"), "c.yaml: mode.cut");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: scaffold}\nmode: {name: split}\ntraining: {graph: true}\n"),
                   "c.yaml:8: mode.name\nc.yaml:9: training.graph\nc.yaml: mode.cut");
}

TEST_SUITE_END();
