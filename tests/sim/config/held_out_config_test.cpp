// Held-out examples of clients and evaluation on them, in configs.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

/// Four clients that hold out this share of their examples, followed by more lines.
std::string holding_out(const std::string& share, const std::string& more = "") {
    return "data: {format: glyphs, partition: {clients: 4, holdout: " + share + "}}\nmodel: {name: lr}\n" + more;
}

}  // namespace

TEST_SUITE_BEGIN("HeldOutConfig");

TEST_CASE("NothingIsHeldOutUnlessAShareIsGiven") {
    CHECK_EQ(loaded(kMinimal).data.partition.holdout, 0.0);
    CHECK_EQ(loaded(holding_out("0.25")).data.partition.holdout, 0.25);
    CHECK_EQ(loaded(holding_out("0")).data.partition.holdout, 0.0);
}

TEST_CASE("ShareBelowNothingOrOfEverythingIsRefused") {
    for (const char* share : {"1", "-0.1", "1.5"})
        check_message("config", share, error_of(holding_out(share)), "c.yaml:1: data.partition.holdout");
    CHECK_ERROR_AT(error_of(holding_out("fifth")), "c.yaml:1: data.partition.holdout");
}

TEST_CASE("WhereClientsTrainOnTheExamplesOfAllNothingCanBeHeldOut") {
    for (const std::string mode : {"hogwild, data: full", "gradient_averaging"})
        check_message("config", mode, error_of(holding_out("0.2", "mode: {name: " + mode + "}\n")),
                      "c.yaml:1: data.partition.holdout");
    CHECK_EQ(error_of(holding_out("0.2", "mode: {name: hogwild}\n")), "");
    CHECK_EQ(error_of(holding_out("0", "mode: {name: gradient_averaging}\n")), "");
}

TEST_CASE("EvaluationOfClientsIsOffUnlessItHasRounds") {
    const auto clients_of = [](const std::string& text) { return loaded(text).evaluation.clients; };
    CHECK_FALSE(clients_of(kMinimal).every);
    CHECK_FALSE(clients_of(holding_out("0.2")).every);
    const auto given = clients_of(holding_out("0.2", "evaluation: {clients: {every: 3, sample: 2, personalized: true}}\n"));
    CHECK_EQ(given.every, 3);
    CHECK_EQ(given.sample, 2);
    CHECK(given.personalized);
    CHECK_FALSE(clients_of(holding_out("0.2", "evaluation: {clients: {every: 3}}\n")).sample);
}

TEST_CASE("EvaluationOfClientsWithoutWhatItNeedsNamesBothKeys") {
    for (const std::string& text :
         {holding_out("0", "evaluation: {clients: {every: 3}}\n"),
          std::string("data: {format: glyphs}\nmodel: {name: lr}\nevaluation: {clients: {every: 3}}\n")})
        check_message("config", "nothing held out", error_of(text), "c.yaml:3: evaluation.clients.every");
    check_message("config", "sample, never", error_of(holding_out("0.2", "evaluation: {clients: {sample: 3}}\n")),
                  "c.yaml:3: evaluation.clients.sample");
    CHECK_ERROR_AT(error_of(holding_out("0.2", "evaluation: {clients: {every: never, personalized: true}}\n")),
                   "c.yaml:3: evaluation.clients.personalized");
    CHECK_ERROR_AT(error_of(holding_out("0.2", "evaluation: {clients: {every: 1, sample: 5}}\n")),
                   "c.yaml:3: evaluation.clients.sample");
    CHECK_ERROR_AT(error_of(holding_out("0.2", "evaluation: {clients: {every: 0}}\n")), "c.yaml:3: evaluation.clients.every");
}

TEST_SUITE_END();
