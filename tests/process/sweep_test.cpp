// Results of a sweep's runs, the effect of a failed run, early stopping, and sharing of the device.
#include "tests/process/sweeps_at_work.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace fs = std::filesystem;

TEST_SUITE("Sweep") {
    TEST_CASE("EveryRunIsWhatItIsAlone") {
        Sweeps sweep;
        REQUIRE_MESSAGE(sweep.run(kFour) == 0, sweep.error());
        check_all_as_alone(sweep, kFour);
        const auto json = sweep.json();
        CHECK(json["exit_status"] == "finished");
        CHECK(json["finished"].is_string());
        CHECK(json["runs"].size() == 4);
        for (const auto& run : json["runs"]) {
            CHECK(run["attempts"] == 1);
            CHECK(run["workers"] >= 1);
            CHECK(manifest_of(sweep.of(run["id"]))["workers"] == run["workers"]);
            CHECK(run["wall_s"] > 0.0);
            CHECK(run["cpu_s"] > 0.0);
            CHECK(run["rounds"] == 3);
        }
        CHECK_FALSE(fs::exists(sweep.path() / ".lock"));
        CHECK(sweep.run(kFour) == 2);
        CHECK(sweep.error().find("the folder is not empty") != std::string::npos);
        // Nothing is left to do.
        CHECK(sweep.run(kFour, resumed()) == 0);
        CHECK(sweep.beginnings("lr=0.1") == 1);
    }

    TEST_CASE("FailedRunSaysWhyAndTheOthersFinish") {
        Sweeps sweep;
        std::vector<PlannedRun> runs = kFour;
        runs[1].overrides.emplace_back("faults=[{kind: throw, round: 2, client: 3, attempts: all}]");
        runs.push_back({"missing", {"model.init=/nowhere/model.safetensors"}});
        CHECK(sweep.run(runs) == 1);
        CHECK(sweep.json()["exit_status"] == "failed: 2 of 5 runs");
        CHECK(sweep.json("lr=0.1")["status"] == "failed");
        const std::string reason = sweep.json("lr=0.1")["reason"];
        CHECK_MESSAGE(reason.find("client 3") != std::string::npos, reason);
        CHECK(sweep.json("lr=0.1")["attempts"] == 1);
        const std::string missing = sweep.json("missing")["reason"];
        CHECK_MESSAGE(missing.find("/nowhere/model.safetensors") != std::string::npos, missing);
        check_all_as_alone(sweep, {runs[0], runs[2], runs[3]});
        // A resume retries them, and only them.
        CHECK(sweep.run(runs, resumed()) == 1);
        CHECK(sweep.json("lr=0.1")["attempts"] == 2);
        CHECK(sweep.beginnings("lr=0.05") == 1);
    }

    TEST_CASE("EarlyStoppingDecidesTheSameHoweverManyRunAtOnce") {
        std::vector<PlannedRun> runs;
        for (const char* rate : {"0.0001", "0.001", "0.01", "0.05", "0.2"})
            runs.push_back({fmt::format("lr={}", rate), {fmt::format("training.optimizer.lr={}", rate), "rounds=6"}});
        std::vector<nlohmann::json> decisions;
        for (const std::int64_t jobs : {1, 2}) {
            Sweeps sweep;
            sweep.early_stopping = {sim::StoppingRule::Halving, 1, 2};
            REQUIRE_MESSAGE(sweep.run(runs, with_jobs(jobs)) == 0, sweep.error());
            nlohmann::json decided;
            for (const auto& run : sweep.runs()) {
                decided[run["id"].get<std::string>()] = {run["status"], run["reason"], sweep.rounds(run["id"])};
                if (run["status"] == "finished") CHECK(manifest_of(sweep.of(run["id"]))["version"] == 6);
            }
            // 5 runs; 3 after round 1, 2 after round 2, 1 after round 4.
            CHECK(sweep.json()["early_stopping"]["decided"] == 4);
            std::map<std::string, int> counts;
            for (const auto& run : decided) ++counts[fmt::format("{} {}", run[0].get<std::string>(), run[2].get<int>())];
            CHECK(counts ==
                  std::map<std::string, int>{{"finished 6", 1}, {"stopped 1", 2}, {"stopped 2", 1}, {"stopped 4", 1}});
            decisions.push_back(decided);
            // A resume repeats the decisions; with one more run, the sweep decides again, from the runs' results.
            CHECK(sweep.run(runs, resumed(jobs)) == 0);
            for (const auto& run : sweep.runs()) CHECK(run["reason"] == decided[run["id"].get<std::string>()][1]);
            std::vector<PlannedRun> more = runs;
            more.push_back({"lr=0.1", {"training.optimizer.lr=0.1", "rounds=6"}});
            if (jobs == 1) continue;
            REQUIRE(sweep.run(more, adopted()) == 0);
            Sweeps fresh;
            fresh.early_stopping = sweep.early_stopping;
            REQUIRE(fresh.run(more, with_jobs(jobs)) == 0);
            for (const auto& run : fresh.runs()) {
                CHECK(sweep.json(run["id"])["reason"] == run["reason"]);
                // A run that had reached the rung is not started for it.
                if (sweep.rounds(run["id"]) == 1) CHECK(sweep.json(run["id"])["attempts"] == 1);
            }
        }
        CHECK(decisions[0] == decisions[1]);
        for (const auto& run : decisions[0])
            if (run[2] == 1) CHECK(run[1].get<std::string>().find(" of 5 after round 1") != std::string::npos);
    }

    TEST_CASE("DeviceIsSharedOnceTheFirstRunHasShownWhatItTakes") {
        // Each run seems to take 300 of 1000 bytes: three fit, and the first runs alone until its first round is done.
        Sweeps sweep;
        std::vector<PlannedRun> runs;
        for (int seed = 1; seed <= 5; ++seed)
            runs.push_back({fmt::format("seed={}", seed), {"rounds=150", "device=auto", fmt::format("seed={}", seed)}});
        runs[0].overrides.emplace_back("rounds=600");
        runs[0].overrides.emplace_back("training.engine=libtorch");  // makes it long
        const fs::path trace = sweep.base().parent_path() / "trace";
        sim::SweepOptions options = with_jobs(8);
        sweep.host.free_device_memory = [] { return 1000 - 300 * children_of(getpid()).size(); };
        options.on_tick = [&] {
            const auto lines = read_lines(sweep.of("seed=1") / "rounds.csv");
            std::ofstream(trace, std::ios::app) << children_of(getpid()).size() << " " << lines.size() << "\n";
        };
        REQUIRE_MESSAGE(sweep.run(runs, options) == 0, sweep.error());
        std::size_t most = 0;
        bool beside_the_first = false;
        for (const std::string& line : read_lines(trace)) {
            std::istringstream numbers(line);
            std::size_t at_work = 0;
            std::size_t lines_of_first = 0;
            numbers >> at_work >> lines_of_first;
            most = std::max(most, at_work);
            if (lines_of_first < 2) CHECK(at_work <= 1);
            beside_the_first = beside_the_first || (lines_of_first < 601 && at_work > 1);
        }
        CHECK(most == 3);
        CHECK(beside_the_first);
    }

    TEST_CASE("SweepThatCannotStartARunSaysSo") {
        Sweeps sweep;
        sweep.host.executable = "/nowhere/fedhive";
        CHECK(sweep.run({kFour[0]}) == 1);
        CHECK(sweep.error().find("cannot start /nowhere/fedhive") != std::string::npos);
        CHECK(sweep.json()["exit_status"].get<std::string>().find("failed: cannot start /nowhere/fedhive") == 0);
        CHECK(sweep.json("lr=0.05")["status"] == "waiting");
        sweep.host.executable = fedhive_program();
        REQUIRE(sweep.run({kFour[0]}, resumed()) == 0);
    }
}
