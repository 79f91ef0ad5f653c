// Promise 2: nothing hangs, nothing is left behind. Real processes, real signals.
#include "tests/process/csv_rows.h"
#include "tests/process/remains.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Long enough to be interrupted at work.
std::vector<std::string> endless() { return {"--set", "rounds=100000", "--set", "evaluation.every=100000"}; }

/// One client trains for minutes.
std::vector<std::string> endless_client() { return {"--set", "training.local_epochs=1000000", "--set", "rounds=2"}; }

/// Waits until rounds are recorded; a slow starter may not have taken part yet.
void wait_for_rounds(const FedhiveRun& run) {
    REQUIRE(eventually(30.0, [&] { return run.rounds() >= 3; }));
}

}  // namespace

TEST_SUITE("Failures") {
    TEST_CASE("WorkerKilledWhileTrainingEndsTheRunWithinASecond") {
        const auto seconds = [] {
            FedhiveRun run(small_config(), endless_client());
            const AtWork before = at_work(run, 2);
            REQUIRE(all_train(before.workers));
            kill(before.workers[1], SIGKILL);
            const double taken = check_aborted(run, before, "worker 1 (client");
            CHECK(run.output().find("killed by SIGKILL") != std::string::npos);
            CHECK(run.output().find("round 1") != std::string::npos);
            return taken;
        };
        CHECK(least_of_six(1.0, seconds) < 1.0);
    }

    TEST_CASE("WorkerKilledBetweenTasksEndsTheRunWithinASecond") {
        // Three workers and one client per round: two of them wait.
        auto options = endless();
        options.insert(options.end(), {"--set", "training.cohort=1", "--set", "workers=3"});
        const auto seconds = [&] {
            FedhiveRun run(small_config(), options);
            const AtWork before = at_work(run, 3);
            wait_for_rounds(run);
            kill(before.workers[0], SIGKILL);
            return check_aborted(run, before, "worker 0");
        };
        CHECK(least_of_six(1.0, seconds) < 1.0);
    }

    TEST_CASE("WorkerKilledBeforeItIsReadyEndsTheRun") {
        FedhiveRun run(small_config(), endless());
        const AtWork before = at_work(run, 2);
        kill(before.workers[0], SIGKILL);
        CHECK(check_aborted(run, before, "worker 0") < 60.0);  // it would continue for minutes
    }

    TEST_CASE("StoppedWorkerIsHungAfterItsDeadline") {
        auto options = endless();
        options.insert(options.end(), {"--set", "failures.deadline_s=1.5"});
        FedhiveRun run(small_config(), options);
        const AtWork before = at_work(run, 2);
        REQUIRE(all_train(before.workers));
        kill(before.workers[1], SIGSTOP);
        CHECK(check_aborted(run, before, "hung") < 28.0);  // the adaptive deadline would be 30 s or more
        CHECK(run.output().find("worker 1") != std::string::npos);
    }

    TEST_CASE("NonFiniteUpdateEndsTheRunAndNamesTheClient") {
        // Clients pause for two seconds, so that the run's workers can be seen before it ends.
        FedhiveRun run(small_config(), set({"training.optimizer.lr=1e30", "faults=[{kind: slow, seconds: 2}]"}));
        const AtWork before = at_work(run, 2);
        check_aborted(run, before, "non_finite");
        CHECK(run.output().find("client ") != std::string::npos);
        CHECK(run.rounds() == 0);
    }

    TEST_CASE("InterruptEndsTheRunWith130AndWholeRows") {
        for (const int number : {SIGINT, SIGTERM}) {
            FedhiveRun run(small_config(), endless());
            const AtWork before = at_work(run, 2);
            wait_for_rounds(run);
            kill(run.pid(), number);
            check_interrupted(run, before);
            CHECK(run.manifest()["exit_status"].get<std::string>().find("interrupted") == 0);
            CHECK(!read_csv(run.out() / "rounds.csv").empty());  // rows are complete
        }
    }

    TEST_CASE("InterruptWhileAClientTrainsDoesNotWaitForIt") {
        FedhiveRun run(small_config(), endless_client());
        const AtWork before = at_work(run, 2);
        REQUIRE(all_train(before.workers));
        kill(run.pid(), SIGINT);
        CHECK(check_interrupted(run, before) < 20.0);  // the client would take minutes
    }

    TEST_CASE("InterruptWhileTheCoordinatorTrainsDoesNotWaitForTheClient") {
        auto options = endless_client();
        options.insert(options.end(), {"--set", "workers=0"});
        FedhiveRun run(small_config(), options);
        REQUIRE(eventually(20.0, [&] { return std::filesystem::exists(run.out() / "manifest.json"); }));
        REQUIRE(all_train({run.pid()}));
        const AtWork before{{}, segments_of(run.pid())};
        kill(run.pid(), SIGINT);
        CHECK(check_interrupted(run, before) < 20.0);
        CHECK(run.output().find("go on with: fedhive run --resume " + run.out().string()) != std::string::npos);
    }

    TEST_CASE("SecondInterruptDoesNotWaitForAWorkerThatDoesNotStop") {
        const auto seconds = [] {
            FedhiveRun run(small_config(), endless_client());
            const AtWork before = at_work(run, 2);
            REQUIRE(all_train(before.workers));
            kill(before.workers[0], SIGSTOP);
            kill(run.pid(), SIGINT);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            kill(run.pid(), SIGTERM);
            return check_interrupted(run, before);
        };
        CHECK(least_of_six(1.5, seconds) < 1.5);
    }

    TEST_CASE("ClosedOutputDoesNotEndTheRun") {
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        clients::SpawnOptions options;
        options.executable = "/bin/sh";
        const std::string command =
            fmt::format("{} run {} --out {}", fedhive_program(), (run.folder() / "test.yaml").string(), run.out().string());
        // Output to a closed pipe; then without standard descriptors.
        for (const std::string& line : {command + " | true", command + " --overwrite >&- 2>&- <&-"}) {
            options.arguments = {"-c", line};
            clients::ChildProcess shell(options);
            REQUIRE(shell.wait_for(60.0));
            CHECK(shell.end()->text == "exited with status 0");
            CHECK(run.rounds() == 3);
            CHECK(run.manifest()["exit_status"] == "finished");
        }
    }

    TEST_CASE("WorkersDoNotOutliveAKilledCoordinator") {
        for (const bool ready : {true, false}) {
            FedhiveRun run(small_config(), endless());
            const AtWork before = at_work(run, 2);
            if (ready) wait_for_rounds(run);
            kill(run.pid(), SIGKILL);
            check_nothing_left(before);
        }
    }
}
