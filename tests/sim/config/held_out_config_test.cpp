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
        CHECK_EQ(error_of(holding_out(share)),
                 std::string("c.yaml:1: data.partition.holdout: ") + share + " is out of range; allowed: 0 or more, below 1");
    CHECK_EQ(error_of(holding_out("fifth")).find("c.yaml:1: data.partition.holdout: wants a number, found 'fifth'"), 0);
}

TEST_CASE("WhereClientsTrainOnTheExamplesOfAllNothingCanBeHeldOut") {
    const auto refused = [](const std::string& mode) {
        return "c.yaml:1: data.partition.holdout: in mode " + mode +
               " every client trains on the examples of all, so that nothing would be held out; allowed: 0, or a mode in which "
               "clients train on their own";
    };
    CHECK_EQ(error_of(holding_out("0.2", "mode: {name: hogwild, data: full}\n")), refused("hogwild"));
    CHECK_EQ(error_of(holding_out("0.2", "mode: {name: gradient_averaging}\n")), refused("gradient_averaging"));
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
    const std::string nothing =
        "c.yaml:3: evaluation.clients.every: no client has examples to be evaluated on, since data.partition.holdout is 0; "
        "give it "
        "the share that each holds out, such as 0.2, or write never here";
    CHECK_EQ(error_of(holding_out("0", "evaluation: {clients: {every: 3}}\n")), nothing);
    CHECK_EQ(error_of("data: {format: glyphs}\nmodel: {name: lr}\nevaluation: {clients: {every: 3}}\n"), nothing);
    const auto off = [](const std::string& key) {
        return "c.yaml:3: evaluation.clients." + key +
               ": nobody is evaluated, since evaluation.clients.every is never; give it a number of rounds, or leave this out";
    };
    CHECK_EQ(error_of(holding_out("0.2", "evaluation: {clients: {sample: 3}}\n")), off("sample"));
    CHECK_EQ(error_of(holding_out("0.2", "evaluation: {clients: {every: never, personalized: true}}\n")), off("personalized"));
    CHECK_EQ(error_of(holding_out("0.2", "evaluation: {clients: {every: 1, sample: 5}}\n")),
             "c.yaml:3: evaluation.clients.sample: 5 is more than data.partition.clients; allowed: all, 1 to 4");
    CHECK_EQ(error_of(holding_out("0.2", "evaluation: {clients: {every: 0}}\n")),
             "c.yaml:3: evaluation.clients.every: 0 is out of range; allowed: never, 1 to 1e9");
}

TEST_SUITE_END();
