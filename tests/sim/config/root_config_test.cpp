// Root examples and the aggregators that need them, in configs.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

/// Four clients and the server's own examples, followed by more lines.
std::string with_root(const std::string& more, const std::string& examples = "100") {
    return "data: {format: glyphs, root_examples: " + examples + ", partition: {clients: 4}}\nmodel: {name: lr}\n" + more;
}

}  // namespace

TEST_SUITE_BEGIN("RootConfig");

TEST_CASE("ThereAreNoneUnlessTheyAreGiven") {
    CHECK_FALSE(loaded(kMinimal).data.root_examples);
    CHECK_EQ(loaded(with_root("")).data.root_examples, 100);
    CHECK(to_yaml(loaded(with_root("strategy: {name: zeno}\n"))).find("root_examples: 100") != std::string::npos);
    CHECK(to_yaml(loaded(kMinimal)).find("root_examples") == std::string::npos);
    for (const char* examples : {"0", "-1", "1.5"})
        check_message("config", examples, error_of(with_root("", examples)), "c.yaml:1: data.root_examples");
}

TEST_CASE("ARuleThatNeedsThemTakesAHundred") {
    for (const std::string strategy : {"name: fltrust", "name: zeno, byzantine: 2", "name: fedadam, aggregator: root_trust"}) {
        CHECK_EQ(loaded(kMinimal + "strategy: {" + strategy + "}\n").data.root_examples, 100);
        CHECK_EQ(loaded(with_root("strategy: {" + strategy + "}\n", "7")).data.root_examples, 7);
    }
}

TEST_CASE("ARuleThatCannotHaveThemSaysWhatToAdd") {
    const std::string by_number = "data: {format: glyphs, partition: {scheme: from_file, file: /p.csv}}\nmodel: {name: lr}\n";
    check_message("config", "fltrust", error_of(by_number + "strategy: {name: fltrust}\n"), "c.yaml:3: strategy.name");
    check_message("config", "aggregator", error_of(by_number + "strategy: {aggregator: root_trust}\n"),
                  "c.yaml:3: strategy.aggregator");
}

TEST_CASE("OtherModesAreRefused") {
    for (const std::string mode : {"semi_async, quorum: 2", "async", "parameter_server", "hogwild", "split, cut: fc"})
        check_message("config", mode,
                      error_of(with_root("strategy: {name: fltrust, weighting: examples}\nmode: {name: " + mode + "}\n")),
                      "c.yaml:4: mode.name");
    CHECK_EQ(error_of(with_root("strategy: {name: fltrust}\nmode: {name: synchronous, quorum: 3}\n")), "");
}

TEST_CASE("WhereClientsWouldTrainOnThemTheyAreRefused") {
    for (const std::string mode : {"hogwild, data: full", "gradient_averaging"})
        check_message("config", mode, error_of(with_root("mode: {name: " + mode + "}\n")), "c.yaml:1: data.root_examples");
    CHECK_EQ(error_of(with_root("mode: {name: hogwild}\n")), "");
    check_message(
        "config", "from_file",
        error_of("data: {format: glyphs, root_examples: 9, partition: {scheme: from_file, file: /p.csv}}\nmodel: {name: lr}\n"),
        "c.yaml:1: data.root_examples");
}

TEST_CASE("WhatOnlyClientsKeepIsRefused") {
    check_message("config", "error_feedback",
                  error_of(with_root("strategy: {name: fltrust}\nupload: [{name: error_feedback}, {name: sign}]\n")),
                  "c.yaml:4: upload");
    check_message(
        "config", "local part",
        error_of("data: {format: glyphs, root_examples: 9, partition: {clients: 4, holdout: 0.2}}\nmodel: {name: mlp, local: "
                 "[\"fc2*\"]}\nevaluation: {clients: {every: 1}}\nstrategy: {name: fltrust}\n"),
        "c.yaml:2: model.local");
    CHECK_ERROR_AT(error_of(with_root("strategy: {name: scaffold, aggregator: root_trust}\n")),
                   "c.yaml:3: strategy.aggregator");
}

TEST_CASE("TooFewUpdatesForZenoAndAFaultOfNobody") {
    check_message("config", "zeno", error_of(with_root("strategy: {name: zeno, byzantine: 4}\n")), "c.yaml: training.cohort");
    const auto fault = [](const std::string& strategy, const std::string& client) {
        return error_of(with_root("strategy: {name: " + strategy + "}\nfaults: [{kind: kill, client: " + client + "}]\n"));
    };
    CHECK_EQ(fault("fltrust", "4"), "");
    check_message("config", "5 of 4", fault("fltrust", "5"), "c.yaml:4: faults");
    check_message("config", "4 of 4", fault("fedavg", "4"), "c.yaml:4: faults");
}

TEST_SUITE_END();
