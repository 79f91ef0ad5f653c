// Promise 1 for samplers: who is asked is the same for any number of workers and ranks, after a kill, and in a replay.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Thirteen clients, who are not always there, so that turns are missed.
Options sampled(const std::string& sampler, const Options& more = {}) {
    return set({"training.cohort=4", "rounds=100", "evaluation.every=50", "checkpoint.every=8", "sampling={" + sampler + "}",
                "devices.availability={scheme: probability, probability: 0.7, period_s: 0.1}"}) +
           set(more);
}

const Options kSamplers{"name: examples", "name: fixed, clients: [12, 3, 7, 0, 5]", "name: round_robin",
                        "name: power_of_choice"};

void finished(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Round by round: the clients that were sent.
std::map<std::string, std::vector<std::string>> cohorts_of(const std::filesystem::path& run) {
    std::map<std::string, std::vector<std::string>> cohorts;
    for (const auto& row : read_csv(run / "clients.csv")) cohorts[row.at("round")].push_back(row.at("client_id"));
    return cohorts;
}

}  // namespace

TEST_SUITE("Sampling") {
    TEST_CASE("CohortsDependOnNeitherWorkersNorAKill") {
        for (const std::string& sampler : kSamplers)
            for (const Options& mode : {Options{}, Options{"mode={name: semi_async, quorum: 2}"}}) {
                CAPTURE(sampler);
                FedhiveRun whole(small_config(), sampled(sampler, mode + Options{"workers=1"}));
                finished(whole);
                FedhiveRun three(small_config(), sampled(sampler, mode + Options{"workers=3"}));
                finished(three);
                check_same_run(three.out(), whole.out());
                FedhiveRun killed(small_config(), sampled(sampler, mode));
                REQUIRE(eventually(30.0, [&] { return killed.rounds() >= 20; }));
                kill(killed.pid(), SIGKILL);
                CHECK(killed.end() == "killed by SIGKILL (Killed)");
                killed.start({"run", "--resume", killed.out().string()});
                finished(killed);
                check_same_run(killed.out(), whole.out());
            }
    }

    TEST_CASE("RanksAskTheSameClients") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string& sampler : kSamplers) {
            CAPTURE(sampler);
            const Options options = sampled(sampler, {"rounds=12"});
            FedhiveRun whole(small_config(), options);
            finished(whole);
            RankedRun ranked(2, small_config(), options + set({"rounds=7"}));
            finished(ranked);
            ranked.start_ranks(3, Options{"run", "--quiet", "--resume", ranked.out().string()} + set({"rounds=12"}));
            finished(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        }
    }

    TEST_CASE("RecordedArrivalsAndAReplayAskThemAgain") {
        for (const std::string& sampler : kSamplers) {
            CAPTURE(sampler);
            const Options options = set({"training.cohort=4", "rounds=9", "checkpoint.every=4", "clock=wall",
                                         "mode={name: semi_async, quorum: 2}", "sampling={" + sampler + "}"});
            FedhiveRun run(small_config(), options);
            finished(run);
            FedhiveRun again(small_config(), options + Options{"--arrivals", (run.out() / "arrivals.csv").string()});
            finished(again);
            CHECK(again.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            const auto row = read_csv(run.out() / "clients.csv").back();
            FedhiveRun replay;
            replay.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
            CHECK_MESSAGE(replay.end() == "exited with status 0", replay.output());
            CHECK_MESSAGE(replay.output().find(": the same bits as in the run\n") != std::string::npos, replay.output());
        }
    }

    TEST_CASE("FixedClientsAreAskedInEveryRound") {
        FedhiveRun run(small_config(), set({"training.cohort=3", "sampling={name: fixed, clients: [9, 2, 4, 1]}"}));
        finished(run);
        for (const auto& [round, cohort] : cohorts_of(run.out())) CHECK(cohort == std::vector<std::string>{"2", "4", "9"});
        run.start({"run", "--resume", run.out().string(), "--set", "rounds=5", "--set", "sampling={name: uniform}"});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("sampling.name: fixed -> uniform") != std::string::npos);
    }
}
