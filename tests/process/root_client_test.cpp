// The server's root client in real runs: what it changes and what it does not.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kTrust{"strategy={name: fltrust}", "data.root_examples=20"};

void ran_through(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

}  // namespace

TEST_SUITE("RootClient") {
    TEST_CASE("AFailureOfTheRootClientChangesNoBit") {
        const std::string expected = sha_with(kTrust);
        for (const std::string policy : {"retry", "drop"})
            for (const std::string kind : {"kill", "throw"}) {
                FedhiveRun run(small_config(), set(kTrust + Options{"failures={policy: " + policy + "}",
                                                                    "faults=[{kind: " + kind + ", round: 2, client: 13}]"}));
                ran_through(run);
                CHECK(run.manifest()["model_sha256"] == expected);
                CHECK(run.manifest()["failures"]["retried"] == 1);
                CHECK(run.manifest()["failures"]["dropped"] == 0);
            }
    }

    TEST_CASE("AFailureOfTheRootClientOnItsRankChangesNoBit") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run(2, small_config(),
                      set(kTrust + Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 13}]"}));
        ran_through(run);
        CHECK(run.manifest()["model_sha256"] == sha_with(kTrust));
        CHECK(run.manifest()["failures"]["retried"] == 1);
    }

    TEST_CASE("ItIsInNoTableAndTakesNeitherTimeNorBytes") {
        const Options devices{"devices.compute={distribution: zipf}", "data.root_examples=20"};
        FedhiveRun trust(small_config(), set(devices + Options{"strategy={name: fltrust}"}));
        FedhiveRun mean(small_config(), set(devices + Options{"strategy={name: median}"}));
        ran_through(trust);
        ran_through(mean);
        CHECK(read_text(trust.out() / "partition.csv") == read_text(mean.out() / "partition.csv"));
        CHECK(trust.manifest()["num_clients"] == 13);
        const auto rounds = read_csv(trust.out() / "rounds.csv"), others = read_csv(mean.out() / "rounds.csv");
        REQUIRE(rounds.size() == 3);
        for (std::size_t i = 0; i < rounds.size(); ++i)
            for (const char* column : {"accepted", "bytes_down", "bytes_up", "virtual_s", "version"})
                CHECK_MESSAGE(rounds[i].at(column) == others[i].at(column), column);
        const auto clients = read_csv(trust.out() / "clients.csv");
        CHECK(clients.size() == 33);
        for (const auto& row : clients) CHECK(row.at("client_id") != "13");
    }

    TEST_CASE("AnAttackOfAllClientsMeetsATrustOfNothing") {
        const Options alike{
            "strategy={name: fltrust}", "model={name: lr}",
            "data={format: glyphs, num_train: 600, num_test: 50, root_examples: 100, partition: {clients: 13}}"};
        const Options all{"upload=[{name: sign_flip, share: 1, factor: 1}]"};
        // The root client's update is not flipped, so no update points its way, and the model stays that of the beginning.
        const std::string first = sha_with(alike + all + Options{"rounds=1"});
        CHECK(sha_with(alike + all) == first);
        CHECK(sha_with(alike) != first);
    }

    TEST_CASE("OtherRootExamplesGiveOtherBits") {
        CHECK(sha_with({"strategy={name: fltrust}", "data.root_examples=21"}) != sha_with(kTrust));
        CHECK(sha_with({"strategy={name: zeno, byzantine: 0}", "data.root_examples=20"}) ==
              sha_with({"strategy={name: fedavg, weighting: uniform}", "data.root_examples=20"}));
    }

    TEST_CASE("ARunIsReplayed") {
        FedhiveRun run(small_config(), set(kTrust + Options{"checkpoint.every=1"}));
        ran_through(run);
        FedhiveRun replay;
        replay.start({"replay", run.out().string(), "--round", "2", "--client", "4"});
        CHECK_MESSAGE(replay.end() == "exited with status 0", replay.output());
    }
}
