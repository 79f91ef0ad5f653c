// Aggregators that go by the sums of clients' updates, in configs.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("HistoryConfig");

TEST_CASE("OnlyASynchronousServerKnowsAllSumsWhenItWeighs") {
    for (const std::string mode : {"semi_async, quorum: 2", "async", "split, cut: fc"})
        check_message("config", mode, error_of(kMinimal + "strategy: {name: foolsgold}\nmode: {name: " + mode + "}\n"),
                      "c.yaml:8: mode.name");
    check_message("config", "aggregator",
                  error_of(kMinimal + "strategy: {aggregator: similarity}\nmode: {name: split, cut: fc}\n"),
                  "c.yaml:7: strategy.aggregator");
    CHECK_EQ(error_of(kMinimal + "strategy: {name: foolsgold}\nmode: {name: synchronous, quorum: 3}\n"), "");
}

TEST_CASE("SlotsHoldOneClient") {
    check_message("config", "per slot", error_of(kMinimal + "strategy: {name: foolsgold}\ntraining: {clients_per_slot: 2}\n"),
                  "c.yaml:8: training.clients_per_slot");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: scaffold, aggregator: similarity}\n"),
                   "c.yaml:7: strategy.aggregator");
    check_message("config", "confidence", error_of(kMinimal + "strategy: {name: foolsgold, confidence: 0}\n"),
                  "c.yaml:7: strategy.confidence");
    CHECK(loaded(kMinimal + "strategy: {name: foolsgold}\n").keeps_client_state());
    CHECK_FALSE(loaded(kMinimal + "strategy: {name: krum, byzantine: 0}\n").keeps_client_state());
}

TEST_SUITE_END();
