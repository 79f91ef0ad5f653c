// Modes with clients in flight over several rounds: the same bits for any number of workers, and after a stop.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::vector<std::string>& late_modes() {
    static const std::vector<std::string> modes{"mode={name: semi_async, quorum: 3}", "mode={name: semi_async, quorum: 11}",
                                                "mode={name: async, alpha: 0.5}"};
    return modes;
}

const std::string kZipf = "devices={compute: {distribution: zipf, exponent: 1, seconds_per_example: 0.01}}";

std::string model_with(const std::vector<std::string>& overrides) {
    FedhiveRun run(small_config(), set(overrides));
    const std::string end = run.end();
    REQUIRE_MESSAGE(end == "exited with status 0", run.output());
    return run.manifest()["model_sha256"];
}

}  // namespace

TEST_SUITE("Modes") {
    TEST_CASE("SameModelForAnyNumberOfWorkersThoughClientsAreInFlight") {
        for (const std::string& mode : late_modes()) {
            const std::string alone = model_with({mode, kZipf, "rounds=12", "workers=0"});
            for (const char* workers : {"workers=1", "workers=2", "workers=4"})
                CHECK(model_with({mode, kZipf, "rounds=12", workers}) == alone);
        }
    }

    TEST_CASE("SemiAsyncWithABufferForAllIsNotSynchronous") {
        const Options four{"data.partition.clients=4", "training.cohort=4", kZipf, "rounds=6"};
        FedhiveRun run(small_config(), set(four) + set({"mode={name: semi_async, quorum: 4}"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] != model_with(four));
        double staleness = 0.0;
        for (const auto& row : read_csv(run.out() / "rounds.csv")) {
            CHECK(row.at("accepted") == "4");
            CHECK(row.at("in_flight") == "3");
            staleness += std::stod(row.at("staleness_mean"));
        }
        CHECK(staleness > 0.0);
    }

    TEST_CASE("ClientThatComesTwiceInARoundHasDrawnAnew") {
        FedhiveRun run(small_config(), set({"mode={name: semi_async, quorum: 11}", kZipf, "rounds=6"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        std::map<std::pair<std::string, std::string>, std::set<std::string>> hashes;  // per (client, round of sending)
        std::size_t rows = 0;
        std::size_t again = 0;
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            again += hashes[{row.at("sent_round"), row.at("client_id")}].empty() ? 0 : 1;
            hashes[{row.at("sent_round"), row.at("client_id")}].insert(row.at("update_hash"));
            ++rows;
        }
        CHECK(again > 5);
        std::size_t different = 0;
        for (const auto& [sent, some] : hashes) different += some.size();
        CHECK(different == rows);
    }

    TEST_CASE("FailuresLeaveTheBitsAndReplaceTheDropped") {
        const Options mode{"mode={name: semi_async, quorum: 11}", kZipf, "rounds=8"};
        const std::string faults = "faults=[{kind: throw, rate: 0.2}, {kind: kill, round: 3, client: 5}]";
        CHECK(model_with(mode + Options{faults, "failures.policy=retry"}) == model_with(mode));
        const Options dropped = mode + Options{faults, "failures.policy=drop"};
        const std::string alone = model_with(dropped + Options{"workers=0"});
        CHECK(alone != model_with(mode));
        FedhiveRun run(small_config(), set(dropped + Options{"workers=3"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == alone);
        std::size_t failed = 0;
        for (const auto& row : read_csv(run.out() / "rounds.csv")) {
            CHECK(row.at("cohort") == "11");
            CHECK(row.at("in_flight") == "10");
            failed += std::stoul(row.at("failed"));
        }
        CHECK(failed > 5);
    }

    TEST_CASE("InterruptedRunWithClientsInFlightEndsAsTheOneThatWasNot") {
        for (const std::string& mode : late_modes()) {
            Options options = set({mode, kZipf, "rounds=2000", "evaluation.every=2000"});
            FedhiveRun whole(small_config(), options);
            REQUIRE(whole.end() == "exited with status 0");
            FedhiveRun run(small_config(), options);
            REQUIRE(eventually(30.0, [&] { return run.rounds() >= 20; }));
            kill(run.pid(), SIGINT);
            REQUIRE(run.end() == "exited with status 130");
            CHECK(run.rounds() < 2000);
            run.start({"run", "--resume", run.out().string()});
            const std::string end = run.end();
            CHECK_MESSAGE(end == "exited with status 0", run.output());
            check_same_run(run.out(), whole.out());
        }
    }

    TEST_CASE("DrainLeavesNobodyInFlight") {
        for (const std::string at_end : {"drop", "drain"}) {
            FedhiveRun run(small_config(),
                           set({"mode={name: semi_async, quorum: 3, at_end: " + at_end + "}", kZipf, "rounds=8"}));
            REQUIRE(run.end() == "exited with status 0");
            CHECK(read_csv(run.out() / "rounds.csv").back().at("in_flight") == (at_end == "drain" ? "0" : "10"));
        }
    }
}
