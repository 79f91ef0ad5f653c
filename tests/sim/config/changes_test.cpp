// Which keys differ between two configs, and which of them a resume may change; also the list of faults, key by key.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("Changes");

TEST_CASE("EqualConfigsHaveNoChanges") {
    CHECK(changes(loaded(kMinimal), loaded(kMinimal)).empty());
    CHECK(changes(loaded(kMinimal), loaded(kMinimal, {"rounds=10"})).empty());
}

TEST_CASE("ChangedAddedAndTakenOutKeysAreNamedWithBothValues") {
    const auto found = changes(loaded(kMinimal, {"stop.test_accuracy=0.5"}),
                               loaded(kMinimal, {"training.batch_size=64", "rounds=12", "faults=[{kind: nan, rate: 0.5}]"}));
    const auto one = [&](const std::string& key) {
        const auto at = std::find_if(found.begin(), found.end(), [&](const ConfigChange& change) { return change.key == key; });
        REQUIRE_MESSAGE(at != found.end(), key);
        return *at;
    };
    CHECK(found.size() == 6);
    CHECK(one("rounds").before == "10");
    CHECK(one("rounds").after == "12");
    CHECK(one("rounds").allowed);
    CHECK(one("training.batch_size").before == "32");
    CHECK_FALSE(one("training.batch_size").allowed);
    CHECK(one("stop.test_accuracy").after.empty());
    CHECK(one("stop.test_accuracy").allowed);
    CHECK(one("faults[0].rate").before.empty());
    CHECK(one("faults[0].rate").after == "0.5");
    CHECK_FALSE(one("faults[0].rate").allowed);
}

TEST_CASE("StrategyAndItsParametersMayNotChange") {
    for (const auto& change : changes(loaded(kMinimal), loaded(kMinimal, {"strategy={name: fedadam}"})))
        CHECK_FALSE(change.allowed);
}

TEST_CASE("DevicesMayNotChange") {
    const auto found =
        changes(loaded(kMinimal, {"devices.compute={distribution: zipf}"}), loaded(kMinimal, {"devices.trace=/d.csv"}));
    CHECK(found.size() == 7);  // compute: 3; link: 3; the trace
    for (const ConfigChange& change : found) CHECK_FALSE_MESSAGE(change.allowed, change.key);
    const auto clock = changes(loaded(kMinimal), loaded(kMinimal, {"clock=wall"}));
    REQUIRE(clock.size() == 7);  // the clock; compute: 2; link: 3; the scheme
    CHECK(clock.front().key == "clock");
    CHECK_FALSE(clock.front().allowed);
}

TEST_CASE("KeysThatMayChangeAreThoseThatCannotChangeWhatIsDone") {
    CHECK(keys_that_may_change() == std::vector<std::string>{"rounds",
                                                             "workers",
                                                             "mps",
                                                             "client_state",
                                                             "data.root",
                                                             "data.train",
                                                             "data.test",
                                                             "data.shared",
                                                             "model.file",
                                                             "training.clients_per_slot",
                                                             "training.graph",
                                                             "strategy.file",
                                                             "strategy.rule",
                                                             "strategy.visit",
                                                             "stop.test_accuracy",
                                                             "stop.test_top5_accuracy",
                                                             "stop.test_balanced_accuracy",
                                                             "stop.test_macro_f1",
                                                             "stop.test_mse",
                                                             "stop.test_mae",
                                                             "stop.test_perplexity",
                                                             "failures.policy",
                                                             "failures.attempts",
                                                             "failures.deadline_s",
                                                             "checkpoint.every",
                                                             "checkpoint.keep"});
}

TEST_CASE("FaultsSayWhatIsWrongWithThem") {
    const std::vector<std::pair<std::string, std::string>> rows = {
        {"faults: nan\n", "c.yaml:7: faults"},
        {"faults:\n  - nan\n", "c.yaml:8: faults[0]"},
        {"faults:\n  - {round: 1}\n", "c.yaml:8: faults[0].kind"},
        {"faults:\n  - {kind: explode}\n", "c.yaml:8: faults[0].kind"},
        {"faults:\n  - {kind: nan}\n  - {kind: kil}\n", "c.yaml:9: faults[1].kind"},
        {"faults:\n  - {kind: kill, rounds: 1}\n", "c.yaml:8: faults[0].rounds"},
        {"faults:\n  - {kind: kill, seconds: 1}\n", "c.yaml:8: faults[0].seconds"},
        {"faults:\n  - {kind: nan, at: update}\n", "c.yaml:8: faults[0].at"},
        {"faults:\n  - {kind: nan, rate: 0}\n", "c.yaml:8: faults[0].rate"},
        {"faults:\n  - {kind: nan, client: 4}\n", "c.yaml:7: faults"},
        {"faults:\n  - {kind: nan, round: 11}\n", "c.yaml:7: faults"},
        {"failures: {min_updates: 5}\n", "c.yaml:7: failures.min_updates"},
    };
    for (const auto& [text, places] : rows) check_message("config", text, error_of(kMinimal + text), places);
}

TEST_CASE("GraphMayNotChangeWhereClientsAreTrainedAtOnce") {
    for (const std::string at_once : {"1", "2"}) {
        const std::string text = kMinimal + "training: {clients_per_slot: 2, clients_at_once: " + at_once + "}\n";
        const auto found = changes(loaded(text), loaded(text, {"training.graph=true"}));
        REQUIRE(found.size() == 1);
        CHECK_EQ(found[0].key, "training.graph");
        CHECK_EQ(found[0].allowed, at_once == "1");
    }
}

TEST_CASE("RoundsMayNotChangeWhereTheLastOnesDrain") {
    for (const std::string at_end : {"drop", "drain"}) {
        const std::string text = kMinimal + "mode: {name: semi_async, quorum: 2, at_end: " + at_end + "}\n";
        const auto found = changes(loaded(text), loaded(text, {"rounds=20"}));
        REQUIRE(found.size() == 1);
        CHECK_EQ(found[0].key, "rounds");
        CHECK_EQ(found[0].allowed, at_end == "drop");
    }
}

TEST_CASE("ResolvedTextIsReadBackAsTheSameConfig") {
    const RunConfig run =
        loaded(kMinimal, {"failures.deadline_s=auto", "checkpoint.every=3", "model.init=/some/model file.safetensors",
                          "faults=[{kind: slow, round: 2, seconds: 0.5}]", "strategy={name: fedadam}"});
    CHECK(changes(run, from_yaml(to_yaml(run), "text")).empty());
    CHECK_THROWS_WITH_AS(from_yaml(to_yaml(run) + "sed: 1\n", "text"), doctest::Contains("sed: unknown key"), ConfigError);
}

TEST_SUITE_END();
