// What each client holds out of its training, and the evaluation on it, as a config says them.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

/// Four clients that hold out so much of their examples; more lines behind.
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

TEST_SUITE_END();
