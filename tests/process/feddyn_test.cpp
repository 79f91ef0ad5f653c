// FedDyn in the real program: client states and server state stay consistent for any number of workers and after failures.
#include "tests/process/finished_run.h"
#include "tests/process/kept_by_clients.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kFedDyn{"strategy={name: feddyn, alpha: 0.1}", "training.cohort=5"};

Options by_feddyn(const Options& more) { return kFedDyn + more; }

/// Checks h = mean of g_k over all 13 clients, which the server keeps. Returns the number of clients with a state.
std::size_t server_knows_the_mean_of_what_clients_keep(const std::filesystem::path& run, std::int64_t round) {
    return server_knows_the_sum_of_what_clients_keep(run, round, "server.h.", 1.0 / 13.0);
}

}  // namespace

TEST_SUITE("FedDyn") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterKillsAndAResumeAndReplayed") {
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            Finished run(set(by_feddyn({engine, "workers=3"})));
            const std::string of_three = run.manifest()["model_sha256"];
            for (const char* workers : {"workers=0", "workers=1", "workers=2"})
                CHECK_MESSAGE(sha_with(by_feddyn({engine, workers, "rounds=3"})) == of_three, workers);
            CHECK(sha_with(by_feddyn({engine, "rounds=3", "workers=2", "faults=[{kind: kill, rate: 0.2}]",
                                      "failures={policy: retry, attempts: 9}"})) == of_three);
            const std::string of_five = sha_with(by_feddyn({engine, "workers=0", "rounds=5"}));
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == of_five);
            const auto rows = read_csv(run.out() / "clients.csv");
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "5", "--client", rows.back().at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("ServerKnowsTheMeanOfWhatClientsKeepWhateverGoesWrong") {
        const std::string faults =
            "faults=[{kind: drop, rate: 0.2}, {kind: kill, round: 2, rate: 0.3}, {kind: nan, round: 3, rate: 0.3}]";
        FedhiveRun run(small_config(), set(by_feddyn({"rounds=4", "checkpoint.every=1", "checkpoint.keep=10", faults,
                                                      "failures={policy: drop}", "workers=2", "client_state=file"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        std::size_t keepers = 0;
        for (std::int64_t round = 1; round <= 4; ++round) {
            CAPTURE(round);
            const std::size_t now = server_knows_the_mean_of_what_clients_keep(run.out(), round);
            CHECK(now >= keepers);
            keepers = now;
        }
        FedhiveRun quorum(small_config(),
                          set(by_feddyn({"mode={name: synchronous, quorum: 3}", "rounds=4", "checkpoint.every=1"})));
        REQUIRE_MESSAGE(quorum.end() == "exited with status 0", quorum.output());
        server_knows_the_mean_of_what_clients_keep(quorum.out(), 4);
    }

    TEST_CASE("NothingMoreTravelsThanByFedAvg") {
        const auto bytes = [](const Options& strategy) {
            FedhiveRun run(small_config(), set(strategy + Options{"training.cohort=5", "rounds=1"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            const auto row = read_csv(run.out() / "rounds.csv").back();
            return row.at("bytes_down") + " down, " + row.at("bytes_up") + " up";
        };
        CHECK(bytes({"strategy={name: feddyn}"}) == bytes({"strategy={name: fedavg}"}));
    }

    TEST_CASE("WhatItDoesNotGoWithIsRefused") {
        const auto refused = [](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(by_feddyn(more)));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({"strategy.alpha=0"}, "strategy.alpha:");
        refused({"training.clients_per_slot=4"}, "training.clients_per_slot:");
        refused({"strategy.weighting=examples"}, "strategy.weighting:");
        refused({"strategy.aggregator=median"}, "strategy.aggregator:");
        refused({"mode={name: async}"}, "mode.name:");
        refused({"upload=[{name: clip}]"}, "upload: item 0: strategy 'feddyn' ");
        CHECK_FALSE(sha_with(by_feddyn({"training.optimizer={name: adam}", "rounds=1"})).empty());
    }
}
