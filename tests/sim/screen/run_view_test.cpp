#include "sim/screen/run_view.h"

#include "sim/record/run_lock.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace fs = std::filesystem;

namespace {

constexpr const char* kHead =
    "round,version,cohort,accepted,failed,train_loss,test_loss,test_accuracy,bytes_down,bytes_up,staleness_mean,wall_s,"
    "left_behind,virtual_s\n";

std::string row(int round, const std::string& accuracy = "0.5") {
    const std::string number = std::to_string(round);
    return number + "," + number + ",10,9,1,0.25,0.5," + accuracy + ",1000,900,0,2,0,1.5\n";
}

/// A run's folder, with files in the form that a run writes.
struct Folder : testing::TemporaryFolder {
    RunView view{path()};

    void put(const char* name, const std::string& text) const {
        std::ofstream(path() / (std::string(name) + ".part"), std::ios::binary) << text;
        fs::rename(path() / (std::string(name) + ".part"), path() / name);
    }
    void add(const std::string& rows) const { std::ofstream(path() / "rounds.csv", std::ios::binary | std::ios::app) << rows; }
    void status(const std::string& text) const {
        put("manifest.json", R"({"schema": 1, "name": "some", "workers": 3, "exit_status": ")" + text + R"("})");
    }
    RunState state() {
        view.refresh();
        return view.state();
    }
};

}  // namespace

TEST_SUITE("RunView") {
    TEST_CASE("StateIsWhatLockAndManifestSay") {
        Folder folder;
        CHECK(folder.state() == RunState::Absent);
        {
            const RunLock lock(folder.path());
            CHECK(folder.state() == RunState::Running);  // it has not written anything yet
            CHECK(folder.view.pid() == getpid());
            folder.status("running");
            CHECK(folder.state() == RunState::Running);
            folder.status("interrupted by SIGINT");  // a run that is being resumed
            CHECK(folder.state() == RunState::Running);
        }
        CHECK(folder.state() == RunState::Interrupted);
        CHECK(folder.view.pid() == 0);
        CHECK(folder.view.exit_status() == "interrupted by SIGINT");
        folder.status("running");
        CHECK(folder.state() == RunState::Killed);
        folder.status("failed: no space left");
        CHECK(folder.state() == RunState::Failed);
        folder.status("paused after round 3");
        CHECK(folder.state() == RunState::Paused);
        folder.status("finished");
        CHECK(folder.state() == RunState::Finished);
    }

    TEST_CASE("FileOfAKilledProcessIsNoLock") {
        Folder folder;
        const pid_t child = fork();
        if (child == 0) {
            const RunLock lock(folder.path());
            raise(SIGKILL);
        }
        waitpid(child, nullptr, 0);
        REQUIRE(fs::exists(folder.path() / RunLock::kName));
        folder.put("config.yaml", "name: some\nrounds: 10\n");
        CHECK(folder.state() == RunState::Killed);
    }

    TEST_CASE("LookingDoesNotKeepARunFromStarting") {
        Folder folder;
        std::ofstream(folder.path() / RunLock::kName) << "1\n";
        for (int i = 0; i < 200; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                try {
                    const RunLock lock(folder.path());
                    _exit(0);
                } catch (const std::exception&) {
                    _exit(1);
                }
            }
            int status = 0;
            while (waitpid(child, &status, WNOHANG) == 0) lock_holder(folder.path());
            REQUIRE(status == 0);
        }
    }

    TEST_CASE("RowsAreReadByTheNamesOfTheirColumns") {
        Folder folder;
        folder.add("wall_s,round,test_accuracy,something_new\n2.5,1,0.75,x\n2.5,2,,y\n");
        folder.state();
        REQUIRE(folder.view.rows().size() == 2);
        CHECK(folder.view.rows()[0].round == 1);
        CHECK(folder.view.rows()[0].wall_s == 2.5);
        CHECK(folder.view.rows()[0].quality == 0.75);
        CHECK_FALSE(folder.view.rows()[1].quality);
        CHECK(folder.view.quality() == 0.75);  // of the last evaluated round
        CHECK(folder.view.round() == 2);
        CHECK(folder.view.torn_lines() == 0);
    }

    TEST_CASE("EveryColumnHasItsPlace") {
        Folder folder;
        folder.add(kHead + row(7));
        folder.state();
        REQUIRE(folder.view.rows().size() == 1);
        const RunView::Row& read = folder.view.rows()[0];
        CHECK(read.round == 7);
        CHECK(read.version == 7);
        CHECK(read.cohort == 10);
        CHECK(read.accepted == 9);
        CHECK(read.failed == 1);
        CHECK(read.train_loss == 0.25);
        CHECK(read.test_loss == 0.5);
        CHECK(read.quality == 0.5);
        CHECK(read.wall_s == 2.0);
        CHECK(read.virtual_s == 1.5);
        CHECK(read.bytes_down == 1000);
        CHECK(read.bytes_up == 900);
    }

    TEST_CASE("RowsThatAreAddedAreReadOnce") {
        Folder folder;
        folder.add("round,version,co");  // a torn header
        folder.state();
        CHECK(folder.view.torn_lines() == 1);
        folder.add(std::string(kHead).substr(16) + row(1));
        folder.state();
        CHECK(folder.view.round() == 1);
        CHECK(folder.view.torn_lines() == 0);
        folder.add(row(2) + row(3).substr(0, 12));
        folder.state();
        CHECK(folder.view.round() == 2);
        CHECK(folder.view.torn_lines() == 1);  // while its end is missing
        folder.add(row(3).substr(12));
        folder.state();
        CHECK(folder.view.round() == 3);
        CHECK(folder.view.rows().size() == 3);
        CHECK(folder.view.torn_lines() == 0);
    }

    TEST_CASE("TornLinesAreSkippedAndCounted") {
        Folder folder;
        folder.add(kHead + row(1) + "2,2,10\n" + "3,x,10,9,1,0.25,0.5,0.5,1000,900,0,2,0,1.5\n\n" + row(4) + "5,5");
        folder.state();
        CHECK(folder.view.rows().size() == 2);
        CHECK(folder.view.round() == 4);
        CHECK(folder.view.torn_lines() == 4);
    }

    TEST_CASE("TableThatWasCutIsReadAgain") {
        Folder folder;
        folder.add(kHead + row(1) + row(2) + row(3, "0.9"));
        folder.state();
        CHECK(folder.view.quality() == 0.9);
        const auto to_round_1 = std::string(kHead).size() + row(1).size();
        fs::resize_file(folder.path() / "rounds.csv", to_round_1);
        folder.state();
        CHECK(folder.view.round() == 1);
        CHECK(folder.view.quality() == 0.5);
        // Between two looks the file was cut and grew longer than before.
        folder.add(row(2, "0.61") + row(3, "0.62"));
        folder.state();
        fs::resize_file(folder.path() / "rounds.csv", to_round_1);
        folder.add(row(2, "0.711") + row(3, "0.722") + row(4, "0.733"));
        folder.state();
        REQUIRE(folder.view.rows().size() == 4);
        CHECK(folder.view.rows()[1].quality == 0.711);
        CHECK(folder.view.torn_lines() == 0);
        CHECK(folder.view.elapsed_s() == 8.0);
        fs::remove(folder.path() / "rounds.csv");
        folder.state();
        CHECK(folder.view.rows().empty());
    }

    TEST_CASE("HalfWrittenFilesChangeNothing") {
        Folder folder;
        folder.status("finished");
        folder.put("config.yaml", "name: some\nseed: 1\nrounds: 12\nworkers: 3\n");
        CHECK(folder.state() == RunState::Finished);
        CHECK(folder.view.name() == "some");
        CHECK(folder.view.workers() == 3);
        CHECK(folder.view.rounds() == 12);
        for (const char* text : {"", "{\"exit_status\": \"fai", "[]", R"({"exit_status": 7, "name": [], "workers": "x"})"}) {
            folder.put("manifest.json", text);
            folder.put("config.yaml", text);
            CHECK(folder.state() == RunState::Finished);
        }
        CHECK(folder.view.rounds() == 12);
        fs::remove_all(folder.path());
        CHECK_NOTHROW(folder.view.refresh());
        folder.view = RunView("/nowhere/at/all");
        CHECK(folder.state() == RunState::Absent);
    }

    TEST_CASE("DamagedManifestIsNoFinishedRunNorAKilledOne") {
        for (const char* text : {"", "{\"exit_status\": \"fini", "[]", R"({"exit_status": 7})", "{}"}) {
            Folder folder;
            folder.put("config.yaml", "rounds: 12\n");
            folder.put("manifest.json", text);
            CHECK(folder.state() == RunState::Failed);
            CHECK(folder.view.exit_status() == "manifest.json is damaged");
            folder.status("finished");
            CHECK(folder.state() == RunState::Finished);
        }
    }

    TEST_CASE("NameCannotMoveTheCursor") {
        Folder folder;
        folder.put("manifest.json", R"({"name": "a\u001b[2Jb", "exit_status": "failed: \r\nx"})");
        folder.state();
        CHECK(folder.view.name() == "a [2Jb");
        CHECK(folder.view.exit_status() == "failed:   x");
    }

    TEST_CASE("RateAndEtaComeFromTheLastRounds") {
        Folder folder;
        const RunLock lock(folder.path());
        folder.status("running");
        folder.put("config.yaml", "rounds: 20\n");
        folder.state();
        CHECK_FALSE(folder.view.eta_s());
        folder.add("round,wall_s\n1,100\n");
        for (int round = 2; round <= 12; ++round) folder.add(std::to_string(round) + ",2\n");
        folder.state();
        CHECK(folder.view.rounds_per_s() == doctest::Approx(0.5));  // without the slow first round
        CHECK(*folder.view.eta_s() <= 16.0);
        CHECK(*folder.view.eta_s() > 10.0);
        CHECK(folder.view.elapsed_s() >= 122.0);
        CHECK(folder.view.elapsed_s() < 130.0);
        CHECK(folder.view.progress().round == 13);
        CHECK(folder.view.progress().done == 12.0);
    }
}
