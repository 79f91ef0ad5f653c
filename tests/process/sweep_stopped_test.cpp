// A sweep that is killed, interrupted or changed, or loses a run, and is resumed.
#include "sim/machine/machine.h"
#include "tests/process/sweeps_at_work.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace fs = std::filesystem;

TEST_SUITE("Sweep") {
    TEST_CASE("KilledSweepLeavesNothingAndIsTakenUp") {
        Sweeps sweep;
        std::vector<PlannedRun> runs = paused(kFour, 8);
        for (const std::size_t first : {0U, 1U}) runs[first].overrides.pop_back();
        sweep.start(runs, with_jobs(2));
        // Once the first two have ended, the others are at work.
        REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("lr=0.02") >= 3 && sweep.rounds("seed=2") >= 3; }));
        std::set<std::string> finished;
        for (const auto& run : sweep.runs())
            if (run["status"] == "finished") finished.insert(run["id"]);
        CHECK(num_processes_of(sweep.path()) >= 1);
        kill(sweep.pid(), SIGKILL);
        CHECK(sweep.end() == -SIGKILL);
        CHECK(eventually(60.0, [&] { return num_processes_of(sweep.path()) == 0; }));
        CHECK(sweep.json()["exit_status"] == "running");
        REQUIRE_MESSAGE(sweep.run(runs, resumed()) == 0, sweep.error());
        CHECK_FALSE(finished.empty());
        for (const std::string& id : finished) CHECK(sweep.beginnings(id) == 1);
        CHECK(sweep.json()["exit_status"] == "finished");
        check_all_as_alone(sweep, runs);
    }

    TEST_CASE("InterruptedSweepIsTakenUp") {
        for (const int number : {SIGINT, SIGTERM}) {
            Sweeps sweep;
            const std::vector<PlannedRun> runs = paused({kFour[0], kFour[3]}, 8);  // one may start seconds after the other
            sweep.start(runs, with_jobs(2));
            REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("lr=0.05") >= 10 && sweep.rounds("seed=2") >= 10; }));
            kill(sweep.pid(), number);
            CHECK(sweep.end() == 130);
            CHECK(num_processes_of(sweep.path()) == 0);
            CHECK(sweep.json()["exit_status"] == (number == SIGINT ? "interrupted by SIGINT" : "interrupted by SIGTERM"));
            for (const PlannedRun& run : runs) {
                CHECK(sweep.json(run.id)["status"] == "waiting");
                CHECK(sweep.json(run.id)["peak_bytes"] > 300'000);  // other runs share the program's pages
                CHECK(manifest_of(sweep.of(run.id))["exit_status"] == "interrupted by SIGINT");
            }
            std::size_t done = 0;
            for (const auto& row : read_csv(sweep.path() / "summary.csv")) {
                CHECK(row.at("rounds_done") == std::to_string(sweep.rounds(row.at("run") == "seed=2" ? "seed=2" : "lr=0.05")));
                CHECK(row.at("final_test_accuracy") != "");
                done += static_cast<std::size_t>(std::stoul(row.at("rounds_done")));
            }
            CHECK(done >= 20);
            const std::string summary = read_text(sweep.path() / "summary.md");
            CHECK_MESSAGE(summary.find(fmt::format(
                              "0 of 2 runs have finished, {} of 80 rounds are done. To resume: `fedhive sweep --resume {}`",
                              done, sweep.path().string())) != std::string::npos,
                          summary);
            CHECK(summary.find(fmt::format("- `seed=2`: waiting; {} of 40 rounds are done", sweep.rounds("seed=2"))) !=
                  std::string::npos);
            if (number == SIGINT) continue;  // the rest is the same for both signals
            REQUIRE_MESSAGE(sweep.run(runs, resumed()) == 0, sweep.error());
            check_all_as_alone(sweep, runs);
        }
    }

    TEST_CASE("SecondInterruptWaitsForNobody") {
        Sweeps sweep;
        const std::vector<PlannedRun> runs{{"hangs", {"faults=[{kind: hang, round: 2, client: 3}]"}}};
        sweep.start(runs);
        REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("hangs") == 1; }));
        const auto runs_now = children_of(sweep.pid());
        REQUIRE(runs_now.size() == 1);
        kill(runs_now[0], SIGSTOP);  // it cannot react to the first signal
        kill(sweep.pid(), SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        CHECK(alive(sweep.pid()));
        const std::int64_t start = now_ns();
        kill(sweep.pid(), SIGINT);
        CHECK(sweep.end() == 130);
        CHECK(seconds_between(start, now_ns()) < 60.0);  // the hanging run would take minutes
        CHECK(sweep.json("hangs")["status"] == "waiting");
        CHECK(eventually(60.0, [&] { return num_processes_of(sweep.path()) == 0; }));
    }

    TEST_CASE("TerminalsInterruptReachesTheSweepAlone") {
        Sweeps sweep;
        sweep.start(paused({kFour[0]}, 8));
        REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("lr=0.05") >= 1; }));
        const auto runs = children_of(sweep.pid());
        REQUIRE(runs.size() == 1);
        CHECK(getpgid(runs[0]) == runs[0]);
        CHECK(getpgid(sweep.pid()) != runs[0]);
        // The only run gets all cores, up to its number of clients.
        CHECK(sweep.json("lr=0.05")["workers"] == std::min(sim::this_machine().cores, 11));
        kill(sweep.pid(), SIGINT);
        CHECK(sweep.end() == 130);
    }

    TEST_CASE("RunKilledFromOutsideIsTriedOnceMore") {
        Sweeps sweep;
        const std::vector<PlannedRun> runs = paused({kFour[0], kFour[3]}, 4);
        sweep.start(runs, with_jobs(1));
        REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("lr=0.05") >= 10; }));
        REQUIRE(children_of(sweep.pid()).size() == 1);
        kill(children_of(sweep.pid())[0], SIGKILL);
        // Kills the other run twice.
        REQUIRE(eventually(kPatienceS, [&] { return sweep.rounds("seed=2") >= 10; }));
        kill(children_of(sweep.pid())[0], SIGKILL);
        REQUIRE(eventually(kPatienceS, [&] { return sweep.beginnings("seed=2") == 2 && sweep.rounds("seed=2") >= 10; }));
        kill(children_of(sweep.pid())[0], SIGKILL);
        CHECK(sweep.end() == 1);
        CHECK(sweep.json("lr=0.05")["status"] == "finished");
        CHECK(sweep.json("lr=0.05")["attempts"] == 2);
        CHECK(sweep.beginnings("lr=0.05") == 2);
        CHECK(manifest_of(sweep.of("lr=0.05"))["model_sha256"] == sha_alone(runs[0]));
        CHECK(sweep.json("seed=2")["status"] == "failed");
        CHECK(sweep.json("seed=2")["reason"] == "killed by SIGKILL");
        REQUIRE(sweep.run(runs, resumed()) == 0);
        check_all_as_alone(sweep, runs);
    }

    TEST_CASE("ChangedSweepIsRefusedUntilItIsAdopted") {
        Sweeps sweep;
        REQUIRE(sweep.run({kFour[0], kFour[1], kFour[3]}) == 0);
        const std::string before = read_text(sweep.path() / "sweep.json");
        std::vector<PlannedRun> runs{kFour[0], {"lr=0.1", {"training.optimizer.lr=0.1", "rounds=4"}}, {"seed=3", {"seed=3"}}};
        CHECK(sweep.run(runs, resumed()) == 2);
        CHECK_MESSAGE(
            sweep.error().find("has changed since the sweep began: 1 run is new (seed=3), 1 run is gone (seed=2), 1 run is "
                               "changed (lr=0.1); to continue with the changed sweep: fedhive sweep ") != std::string::npos,
            sweep.error());
        CHECK(read_text(sweep.path() / "sweep.json") == before);
        REQUIRE_MESSAGE(sweep.run(runs, adopted()) == 0, sweep.error());
        check_all_as_alone(sweep, runs);
        CHECK(sweep.beginnings("lr=0.05") == 1);
        CHECK(sweep.rounds("lr=0.1") == 4);
        CHECK(sweep.json()["gone"] == nlohmann::json{"seed=2"});
        CHECK(manifest_of(sweep.of("seed=2"))["exit_status"] == "finished");
        CHECK(sweep.run(runs, resumed()) == 0);
    }
}
