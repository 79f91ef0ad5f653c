// Memories of a method file that are numbers of each client, kept at the server.
#include "tests/sim/config/config_files.h"
#include "tests/sim/config/method_folder.h"

#include <doctest/doctest.h>

namespace fedhive::sim {
namespace {

using testing::MethodFolder;

}  // namespace

TEST_SUITE("MethodMemories") {
    TEST_CASE("NumbersOfClientsAreSetAndReadByTheCohortAlone") {
        const MethodFolder folder;
        const std::string clients = "memories: [{name: a, owner: server, shape: clients}]\n";
        folder.refuses(clients + "cohort: weight = k.a\n", "m.yaml:1: memory 'a' is never set");
        folder.refuses(clients + "cohort: [k.a = k.n]\n", "m.yaml:1: memory 'a' is never read");
        folder.refuses(clients + "cohort: [k.a = k.a + 1]\nserver: w = w + a * u\n", "'a' ");
        folder.refuses("memories: [{name: a, owner: client, shape: clients}]\n", "m.yaml:1: memory 'a': owner: 'client'");
        folder.refuses("memories: [{name: a, owner: server, shape: clients, first: 1, simplex: true}]\n",
                       "m.yaml:1: memory 'a': first: 1");
        CHECK(folder.refused(clients + "cohort: [weight = k.a, k.a = k.a + 1]\n").empty());
    }

    TEST_CASE("NumbersOfClientsSurviveTheTextForWorkers") {
        const MethodFolder folder;
        const auto method =
            load_method(folder.file("memories: [{name: a, owner: server, shape: clients, first: 2.5},"
                                    " {name: b, owner: server, shape: clients, simplex: true}]\n"
                                    "cohort: [weight = k.a * k.b, k.a = k.a + 1, k.b = k.b + k.n]\n"));
        const auto again = aggregation::formulas::MethodFormulas::of(method->formulas.text());
        REQUIRE(again.of_clients.size() == 2);
        CHECK(again.of_clients[0].name == "a");
        CHECK(again.of_clients[0].first == 2.5);
        CHECK_FALSE(again.of_clients[0].on_simplex);
        CHECK(again.of_clients[1].on_simplex);
        CHECK(again.text() == method->formulas.text());
        CHECK(again.sets_weights());
    }
}

}  // namespace fedhive::sim
