// Promise 2: nothing hangs, nothing is left behind. Real processes, real signals.
#include "tests/process/csv_rows.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Long enough to be hit while it works.
std::vector<std::string> endless() { return {"--set", "rounds=100000", "--set", "evaluation.every=100000"}; }

/// One client trains for minutes.
std::vector<std::string> endless_client() { return {"--set", "training.local_epochs=1000000", "--set", "rounds=2"}; }

std::vector<pid_t> wait_for_workers(const FedhiveRun& run, std::size_t count) {
    REQUIRE(eventually(20.0, [&] { return run.workers().size() == count; }));
    return run.workers();
}

/// Waits until rounds are in the table; who starts slowly may have had no part in them yet.
void wait_for_rounds(const FedhiveRun& run) {
    REQUIRE(eventually(30.0, [&] { return run.rounds() >= 3; }));
}

void check_nothing_left(const std::vector<pid_t>& workers) {
    CHECK(eventually(1.0, [&] { return std::none_of(workers.begin(), workers.end(), alive); }));
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
        CHECK(entry.path().filename().string().find("fedhive") == std::string::npos);
}

/// Ends with status 1, names `worker` and the reason, keeps whole rows, leaves no process.
void check_aborted(FedhiveRun& run, const std::vector<pid_t>& workers, const std::string& reason, double within) {
    const std::int64_t start = now_ns();
    CHECK(run.end(within + 10.0) == "exited with status 1");
    CHECK(seconds_between(start, now_ns()) < within);
    CHECK_MESSAGE(run.output().find(reason) != std::string::npos, run.output());
    CHECK(run.manifest()["exit_status"].get<std::string>().find("failed") == 0);
    CHECK(read_text(run.out() / "events.jsonl").find("\"event\":\"failure\"") != std::string::npos);
    check_nothing_left(workers);
}

}  // namespace

TEST_SUITE("Failures") {
    TEST_CASE("WorkerKilledWhileTrainingEndsTheRunWithinASecond") {
        FedhiveRun run(small_config(), endless_client());
        const auto workers = wait_for_workers(run, 2);
        REQUIRE(all_train(workers));
        kill(workers[1], SIGKILL);
        check_aborted(run, workers, "worker 1 (client", 2.0);
        CHECK(run.output().find("killed by SIGKILL") != std::string::npos);
        CHECK(run.output().find("round 1") != std::string::npos);
    }

    TEST_CASE("WorkerKilledBetweenTasksEndsTheRunWithinASecond") {
        // Three workers, one client a round: two of them wait.
        auto options = endless();
        options.insert(options.end(), {"--set", "training.cohort=1", "--set", "workers=3"});
        FedhiveRun run(small_config(), options);
        const auto workers = wait_for_workers(run, 3);
        wait_for_rounds(run);
        kill(workers[0], SIGKILL);
        check_aborted(run, workers, "worker 0", 2.0);
    }

    TEST_CASE("WorkerKilledBeforeItIsReadyEndsTheRun") {
        FedhiveRun run(small_config(), endless());
        const auto workers = wait_for_workers(run, 2);
        kill(workers[0], SIGKILL);
        check_aborted(run, workers, "worker 0", 3.0);
    }

    TEST_CASE("StoppedWorkerIsHungAfterItsDeadline") {
        auto options = endless();
        options.insert(options.end(), {"--set", "failures.deadline_s=1.5"});
        FedhiveRun run(small_config(), options);
        const auto workers = wait_for_workers(run, 2);
        REQUIRE(all_train(workers));
        kill(workers[1], SIGSTOP);
        check_aborted(run, workers, "hung", 5.0);
        CHECK(run.output().find("worker 1") != std::string::npos);
    }

    TEST_CASE("NonFiniteUpdateEndsTheRunAndNamesTheClient") {
        FedhiveRun run(small_config(), {"--set", "training.optimizer.lr=1e30"});
        const auto workers = wait_for_workers(run, 2);
        check_aborted(run, workers, "non_finite", 10.0);
        CHECK(run.output().find("client ") != std::string::npos);
        CHECK(run.rounds() == 0);
    }

    TEST_CASE("InterruptEndsTheRunWith130AndWholeRows") {
        for (const int number : {SIGINT, SIGTERM}) {
            FedhiveRun run(small_config(), endless());
            const auto workers = wait_for_workers(run, 2);
            wait_for_rounds(run);
            kill(run.pid(), number);
            CHECK(run.end(5.0) == "exited with status 130");
            CHECK(run.manifest()["exit_status"].get<std::string>().find("interrupted") == 0);
            CHECK(!read_csv(run.out() / "rounds.csv").empty());  // whole rows
            check_nothing_left(workers);
        }
    }

    TEST_CASE("InterruptWhileAClientTrainsDoesNotWaitForIt") {
        FedhiveRun run(small_config(), endless_client());
        const auto workers = wait_for_workers(run, 2);
        REQUIRE(all_train(workers));
        const std::int64_t start = now_ns();
        kill(run.pid(), SIGINT);
        CHECK(run.end(10.0) == "exited with status 130");
        CHECK(seconds_between(start, now_ns()) < 3.0);
        check_nothing_left(workers);
    }

    TEST_CASE("InterruptWhileTheCoordinatorTrainsDoesNotWaitForTheClient") {
        auto options = endless_client();
        options.insert(options.end(), {"--set", "workers=0"});
        FedhiveRun run(small_config(), options);
        REQUIRE(eventually(20.0, [&] { return std::filesystem::exists(run.out() / "manifest.json"); }));
        REQUIRE(all_train({run.pid()}));
        const std::int64_t start = now_ns();
        kill(run.pid(), SIGINT);
        CHECK(run.end(10.0) == "exited with status 130");
        CHECK(seconds_between(start, now_ns()) < 2.0);
        CHECK(run.output().find("go on with: fedhive run --resume " + run.out().string()) != std::string::npos);
    }

    TEST_CASE("SecondInterruptDoesNotWaitForAWorkerThatDoesNotStop") {
        FedhiveRun run(small_config(), endless_client());
        const auto workers = wait_for_workers(run, 2);
        REQUIRE(all_train(workers));
        kill(workers[0], SIGSTOP);
        const std::int64_t start = now_ns();
        kill(run.pid(), SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        kill(run.pid(), SIGTERM);
        CHECK(run.end(10.0) == "exited with status 130");
        CHECK(seconds_between(start, now_ns()) < 1.5);
        check_nothing_left(workers);
    }

    TEST_CASE("InterruptLetsAnEvaluationEndAndASecondOneDoesNot") {
        // A round is a few milliseconds of training and a long evaluation, so half a round after a row one is under way.
        FedhiveRun run(small_config(), {"--set", "data.num_test=600000", "--set", "model.hidden=256", "--set", "rounds=100",
                                        "--set", "evaluation.chunk_size=1000"});
        const auto workers = wait_for_workers(run, 2);
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= 1; }));
        const std::int64_t first_row = now_ns();
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= 2; }));
        const auto half_a_round = std::chrono::nanoseconds((now_ns() - first_row) / 2);
        std::this_thread::sleep_for(half_a_round);
        const auto finished = run.rounds();
        kill(run.pid(), SIGINT);
        CHECK(run.end(20.0) == "exited with status 130");
        CHECK(run.rounds() == finished + 1);  // the round under way was finished
        check_nothing_left(workers);
        run.start({"run", "--resume", run.out().string()});
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= finished + 2; }));
        std::this_thread::sleep_for(half_a_round);
        const auto resumed = run.rounds();
        kill(run.pid(), SIGINT);
        kill(run.pid(), SIGTERM);
        const std::int64_t start = now_ns();
        CHECK(run.end(20.0) == "exited with status 130");
        CHECK(seconds_between(start, now_ns()) < 0.5);
        CHECK(run.rounds() == resumed);
    }

    TEST_CASE("OnlyWorkerStoppedWhileWorkIsLeftIsHung") {
        FedhiveRun run(small_config(), {"--set", "training.local_epochs=300", "--set", "rounds=100", "--set", "workers=1",
                                        "--set", "failures.deadline_s=2"});
        const auto workers = wait_for_workers(run, 1);
        REQUIRE(all_train(workers));
        kill(workers[0], SIGSTOP);
        check_aborted(run, workers, "hung", 6.0);
    }

    TEST_CASE("InterruptBeforeTheWorkersExistEndsWith130AndLeavesNoFolder") {
        FedhiveRun run(small_config(), {"--set", "data.num_train=3000000", "--set", "data.num_features=200"});
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
        kill(run.pid(), SIGINT);
        CHECK(run.end(60.0) == "exited with status 130");
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }

    TEST_CASE("ClosedOutputDoesNotEndTheRun") {
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        clients::SpawnOptions options;
        options.executable = "/bin/sh";
        const std::string command =
            fmt::format("{} run {} --out {}", FEDHIVE_BINARY, (run.folder() / "test.yaml").string(), run.out().string());
        // A reader that goes away; then no standard descriptors at all.
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
            const auto workers = wait_for_workers(run, 2);
            if (ready) wait_for_rounds(run);
            kill(run.pid(), SIGKILL);
            check_nothing_left(workers);
        }
    }
}

TEST_SUITE("BadInput") {
    /// Exit code 2, the message, and no folder.
    const auto refused = [](const std::string& config, const std::vector<std::string>& more, const std::string& message) {
        FedhiveRun run(config, more);
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find(message) != std::string::npos, run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    };

    TEST_CASE("TypoNamesFileLineAndSuggestion") {
        refused(small_config() + "trainig: {}\n", {}, "test.yaml:9: trainig: unknown key; did you mean 'training'?");
    }

    TEST_CASE("ModelThatDoesNotFitTheDataNamesTheLine") {
        refused(small_config(), {"--set", "model={name: cnn_m}"}, "model.name: cnn_m takes examples of at least 6 x 6");
        std::string config = small_config();
        config.replace(config.find("model: {name: mlp, hidden: 32}"), 30, "model: {name: mnist_cnn}");
        refused(config, {}, "test.yaml:7: model.name: mnist_cnn takes examples of 1 x 28 x 28");
    }

    TEST_CASE("MissingDataSaysHowToGetIt") {
        refused("data: {format: idx, root: nowhere/mnist}\nmodel: {name: lr}\n", {}, "scripts/data mnist");
    }

    TEST_CASE("CudaWithoutAGpuIsRefused") {
        if (std::filesystem::exists("/dev/nvidia0")) FEDHIVE_SKIP("there is a GPU");
        refused(small_config(), {"--set", "device=cuda"}, "device: ");
    }

    TEST_CASE("ArenaThatDoesNotFitTellsWantedAndAvailableBytes") {
        refused(
            "data: {format: synthetic, num_train: 20000, num_test: 10, num_features: 4, partition: {scheme: iid, clients: "
            "20000}}\n"
            "model: {name: mlp, hidden: 20000}\n",
            {}, "bytes");
    }

    TEST_CASE("FolderThatIsNotEmptyIsKeptUnlessOverwritten") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        std::ofstream(run.out() / "notes.txt") << "mine";
        const std::string before = read_text(run.out() / "rounds.csv");
        const std::vector<std::string> again{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()};
        run.start(again);
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("not empty") != std::string::npos);
        CHECK(read_text(run.out() / "rounds.csv") == before);
        auto overwriting = again;
        overwriting.emplace_back("--overwrite");
        run.start(overwriting);
        CHECK(run.end() == "exited with status 0");
        CHECK(run.rounds() == 3);
        CHECK(read_text(run.out() / "notes.txt") == "mine");
    }

    TEST_CASE("FolderThatCannotBeWrittenIsRefused") {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "file") << "x";
        std::ofstream(folder.path() / "test.yaml") << small_config();
        FedhiveRun run;
        run.start({"run", (folder.path() / "test.yaml").string(), "--out", (folder.path() / "file").string()});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("is not a folder") != std::string::npos);
        run.start({"run", (folder.path() / "test.yaml").string(), "--out", (folder.path() / "file" / "below").string()});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("cannot be written") != std::string::npos, run.output());
    }

    TEST_CASE("OverwriteLeavesAFolderAloneThatHoldsNoRun") {
        FedhiveRun run;
        std::filesystem::create_directories(run.out() / "logs");
        std::ofstream(run.out() / "config.yaml") << "mine";
        std::ofstream(run.out() / "logs" / "mine.txt") << "mine";
        std::ofstream(run.folder() / "test.yaml") << small_config();
        run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string(), "--overwrite"});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("holds no run") != std::string::npos);
        CHECK(read_text(run.out() / "config.yaml") == "mine");
        CHECK(read_text(run.out() / "logs" / "mine.txt") == "mine");
    }

    TEST_CASE("MoreDataOrModelThanMemoryIsRefused") {
        refused(small_config(), {"--set", "data.num_train=1000000000", "--set", "data.num_features=1000"},
                "data.format: 1000000100 examples need 2008000200800 bytes (1.8 TiB)");
        refused(small_config(), {"--set", "model={name: mlp, hidden: 1000000}"}, "model.name: mlp cannot be built");
    }

    TEST_CASE("UnknownSubcommandAndFlagExitWith2") {
        FedhiveRun run(small_config(), {"--nonsense"});
        CHECK(run.end() == "exited with status 2");
        run.start({"dance"});
        CHECK(run.end() == "exited with status 2");
    }
}

TEST_SUITE("Commands") {
    TEST_CASE("ValidateShowConfigDoctorAndReferenceWork") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const std::string file = (run.folder() / "test.yaml").string();
        run.start({"validate", file});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("valid; ") != std::string::npos);
        run.start({"show-config", file});
        CHECK(run.end() == "exited with status 0");
        run.start({"doctor"});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("libtorch") != std::string::npos);
        run.start({"reference"});
        CHECK(run.end() == "exited with status 0");
        CHECK(run.output().find("proximal_mu") != std::string::npos);
    }
}
