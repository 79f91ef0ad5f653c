// A sweep over several hosts, by this machine's mpirun: each run equals that on one host, whichever host had it or ends.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;
namespace fs = std::filesystem;

namespace {

struct RankedSweep : RankedRun {
    explicit RankedSweep(const std::string& sweep) {
        std::ofstream(folder() / "base.yaml") << small_config();
        std::ofstream(file()) << "base: base.yaml\n" << sweep;
    }
    fs::path file() const { return folder() / "sweep.yaml"; }
    Options arguments() const { return {"sweep", file().string(), "--out", out().string(), "--quiet"}; }
    nlohmann::json json() const { return nlohmann::json::parse(read_text(out() / "sweep.json"), nullptr, false); }
    nlohmann::json runs() const { return json()["runs"]; }
    std::map<std::string, std::string> shas() const {
        std::map<std::string, std::string> all;
        for (const auto& run : runs())
            all[run["id"]] =
                run["status"] == "finished" ? manifest_of(out() / "runs" / run["id"])["model_sha256"] : run["status"];
        return all;
    }
    std::size_t rounds(const std::string& id) const { return read_lines(out() / "runs" / id / "rounds.csv").size(); }
};

constexpr const char* kShortSweep = "grid: {training.optimizer.lr: [0.05, 0.1]}\nseeds: 2\n";
/// Short runs with two pauses, during which they can be observed and ended.
const std::string kTwoRuns = "grid: {training.optimizer.lr: [0.05, 0.1]}\nset: {rounds: 40, training.cohort: 13";
const std::string kWithPauses =
    ", faults: [{kind: slow, round: 12, client: 3, seconds: 5}, {kind: slow, round: 24, client: 3, seconds: 5}]";

}  // namespace

TEST_SUITE("RanksSweep") {
    TEST_CASE("RunsAreThoseOfOneHostAndEachHostHasSome") {
        FEDHIVE_NEEDS_RANKS();
        RankedSweep alone(kShortSweep);
        alone.start(alone.arguments());
        REQUIRE_MESSAGE(alone.end() == "exited with status 0", alone.output());
        CHECK(alone.json()["hosts"].empty());
        RankedSweep sweep(kShortSweep);
        sweep.start_ranks(2, sweep.arguments() + Options{"--jobs", "1"});
        REQUIRE_MESSAGE(sweep.end() == "exited with status 0", sweep.output());
        CHECK(sweep.shas() == alone.shas());
        CHECK(sweep.json()["exit_status"] == "finished");
        std::set<std::string> hosts;
        for (const auto& run : sweep.runs()) hosts.insert(run["host"]);
        CHECK(hosts.size() == 2);
        CHECK(std::set<std::string>(sweep.json()["hosts"]) == hosts);
        CHECK(read_lines(sweep.out() / "summary.csv").size() == 5);
    }

    TEST_CASE("OneThatWasToldToEndGoesOnWithoutRanks") {
        FEDHIVE_NEEDS_RANKS();
        RankedSweep alone(kTwoRuns + "}\n");
        alone.start(alone.arguments());
        REQUIRE_MESSAGE(alone.end() == "exited with status 0", alone.output());
        RankedSweep sweep(kTwoRuns + kWithPauses + "}\n");
        const auto both_at_work = [&] { return sweep.rounds("lr-0.05") > 5 && sweep.rounds("lr-0.1") > 5; };
        sweep.start_ranks(2, sweep.arguments() + Options{"--jobs", "1"});
        REQUIRE_MESSAGE(eventually(60.0, both_at_work), sweep.output());
        kill(sweep.coordinator(1), SIGTERM);  // one host tells all others
        sweep.end();
        CHECK(sweep.json()["exit_status"] == "interrupted by SIGTERM");
        for (const auto& run : sweep.runs()) {
            CHECK(run["status"] == "waiting");
            CHECK(manifest_of(sweep.out() / "runs" / run["id"])["exit_status"] == "interrupted by SIGINT");
        }
        // Again, now with a host lost; its run ends with it.
        sweep.start_ranks(2, {"sweep", "--resume", sweep.out().string(), "--jobs", "1", "--quiet"});
        const std::size_t before = sweep.rounds("lr-0.05");
        REQUIRE_MESSAGE(eventually(60.0, [&] { return sweep.rounds("lr-0.05") > before + 5; }), sweep.output());
        kill(sweep.coordinator(1), SIGKILL);
        CHECK(sweep.end() != "exited with status 0");
        sweep.start({"sweep", "--resume", sweep.out().string(), "--quiet"});
        REQUIRE_MESSAGE(sweep.end() == "exited with status 0", sweep.output());
        CHECK(sweep.shas() == alone.shas());
    }

    TEST_CASE("WhatIsWrongIsSaidOnceBeforeAnythingStarts") {
        FEDHIVE_NEEDS_RANKS();
        RankedSweep sweep("grid: {training.optimiser.lr: [1]}\n");
        sweep.start_ranks(2, sweep.arguments());
        CHECK(sweep.end() == "exited with status 2");
        CHECK_MESSAGE(sweep.times_said("training.optimiser: unknown key") == 1, sweep.output());
        CHECK_FALSE(fs::exists(sweep.out()));
        RankedSweep plan(kShortSweep);
        plan.start_ranks(2, {"sweep", plan.file().string(), "--dry-run"});
        CHECK(plan.end() == "exited with status 0");
        CHECK_MESSAGE(plan.times_said("machine     rank 0 (host ") == 1, plan.output());
        CHECK(plan.times_said("            rank 1 (host ") == 1);
        CHECK_FALSE(fs::exists(plan.out()));
    }
}
