// Modes with clients in flight over many rounds: the same bits for any number of workers, and over a stop.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

using Options = std::vector<std::string>;

const std::vector<std::string>& late_modes() {
    static const std::vector<std::string> modes{"mode={name: semi_async, quorum: 3}", "mode={name: async, alpha: 0.5}"};
    return modes;
}

const std::string kZipf = "devices={compute: {distribution: zipf, exponent: 1, seconds_per_example: 0.01}}";

std::string sha_of(const std::vector<std::string>& overrides) {
    FedhiveRun run(small_config(), set(overrides));
    const std::string end = run.end();
    REQUIRE_MESSAGE(end == "exited with status 0", run.output());
    return run.manifest()["model_sha256"];
}

}  // namespace

TEST_SUITE("Modes") {
    TEST_CASE("SameModelForAnyNumberOfWorkersThoughClientsAreInFlight") {
        for (const std::string& mode : late_modes()) {
            const std::string alone = sha_of({mode, kZipf, "rounds=12", "workers=0"});
            for (const char* workers : {"workers=1", "workers=2", "workers=4"})
                CHECK(sha_of({mode, kZipf, "rounds=12", workers}) == alone);
        }
    }

    TEST_CASE("SemiAsyncThatWaitsForAllIsSynchronous") {
        CHECK(sha_of({"mode={name: semi_async, quorum: 11}", kZipf}) == sha_of({}));
        CHECK(sha_of({"mode={name: semi_async, quorum: 10}", kZipf}) != sha_of({}));
    }

    TEST_CASE("InterruptedRunWithClientsInFlightEndsAsTheOneThatWasNot") {
        for (const std::string& mode : late_modes()) {
            Options options = set({mode, kZipf, "rounds=400", "evaluation.every=400"});
            FedhiveRun whole(small_config(), options);
            REQUIRE(whole.end() == "exited with status 0");
            FedhiveRun run(small_config(), options);
            REQUIRE(eventually(30.0, [&] { return run.rounds() >= 20; }));
            kill(run.pid(), SIGINT);
            REQUIRE(run.end() == "exited with status 130");
            CHECK(run.rounds() < 400);
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
            CHECK(read_csv(run.out() / "rounds.csv").back().at("in_flight") == (at_end == "drain" ? "0" : "8"));
        }
    }
}
