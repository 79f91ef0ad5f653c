#include "sim/screen/sweep_view.h"

#include "sim/record/run_lock.h"
#include "sim/screen/screen_text.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <memory>

using namespace fedhive;
using namespace fedhive::sim;

namespace fs = std::filesystem;

namespace {

/// A sweep's folder, with files in the form that a sweep writes.
struct SweepOnDisk : testing::TemporaryFolder {
    nlohmann::ordered_json plan{{"schema", 1},          {"kind", "sweep"},
                                {"name", "lr_clients"}, {"exit_status", "running"},
                                {"wall_s", 100.0},      {"runs", nlohmann::ordered_json::array()}};
    std::vector<std::unique_ptr<RunLock>> locks;

    void add(const std::string& id, const std::string& status, const std::string& reason = "", double estimate_s = 10.0) {
        plan["runs"].push_back({{"id", id},
                                {"status", status},
                                {"reason", reason},
                                {"rounds", 10},
                                {"attempts", status == "waiting" ? 0 : 1},
                                {"workers", status == "waiting" ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(2)},
                                {"estimate_s", estimate_s}});
    }
    void set(std::size_t run, const std::string& status) { plan["runs"][run]["status"] = status; }
    void save() const {
        std::ofstream(path() / "sweep.json.part") << plan.dump(2);
        fs::rename(path() / "sweep.json.part", path() / "sweep.json");
    }
    /// Writes the run's own folder after that many rounds.
    void run(const std::string& id, int rounds, const std::string& status, double accuracy = 0.5) {
        const fs::path folder = path() / "runs" / id;
        fs::create_directories(folder);
        std::ofstream table(folder / "rounds.csv");
        table << "round,test_accuracy,wall_s\n";
        for (int round = 1; round <= rounds; ++round) table << round << "," << accuracy << ",2\n";
        std::ofstream(folder / "config.yaml") << "rounds: 10\n";
        std::ofstream(folder / "manifest.json") << R"({"exit_status": ")" << status << R"("})";
        if (status == "running") lock(folder);
    }
    void lock(const fs::path& folder) { locks.push_back(std::make_unique<RunLock>(folder)); }
};

/// Two runs finished, one failed, two running, five waiting.
struct Ten : SweepOnDisk {
    Ten() {
        add("lr=0.1,seed=1", "finished");
        add("lr=0.1,seed=2", "finished");
        add("lr=0.2,seed=1", "failed", "client 3 in worker 1: killed by SIGKILL");
        add("lr=0.2,seed=2", "running");
        add("lr=0.3,seed=1", "running");
        for (int i = 0; i < 5; ++i) add("lr=0.9,seed=" + std::to_string(i), "waiting");
        run("lr=0.1,seed=1", 10, "finished", 0.75);
        run("lr=0.1,seed=2", 10, "finished", 0.8125);
        run("lr=0.2,seed=1", 3, "failed: killed", 0.25);
        run("lr=0.2,seed=2", 5, "running", 0.625);
        run("lr=0.3,seed=1", 0, "running");
        lock(path());
        save();
    }
};

std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
    return text_of(lines).find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("SweepView") {
    TEST_CASE("RunsAreWhatPlanAndFoldersSay") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK(sweep.state() == RunState::Running);
        CHECK(sweep.name() == "lr_clients");
        REQUIRE(sweep.runs().size() == 10);
        CHECK(sweep.count(RunState::Finished) == 2);
        CHECK(sweep.count(RunState::Failed) == 1);
        CHECK(sweep.count(RunState::Running) == 2);
        CHECK(sweep.count(RunState::Waiting) == 5);
        const SweepEntry& at_work = sweep.runs()[3];
        CHECK(at_work.round == 5);
        CHECK(at_work.rounds == 10);
        CHECK(at_work.workers == 2);
        CHECK(at_work.quality == 0.625);
        CHECK(at_work.rounds_per_s == 0.5);
        CHECK(at_work.eta_s);
        CHECK(sweep.best()->id == "lr=0.1,seed=2");
    }

    TEST_CASE("ProgressIsWeightedByTheEstimates") {
        SweepOnDisk folder;
        folder.add("a", "finished", "", 30.0);
        folder.add("b", "running", "", 40.0);
        folder.add("c", "waiting", "", 20.0);
        folder.add("d", "failed", "no", 100.0);  // its remaining rounds will never be done
        folder.run("a", 10, "finished");
        folder.run("b", 5, "running");
        folder.run("d", 1, "failed: no");
        folder.lock(folder.path());
        folder.save();
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK(sweep.fraction() == doctest::Approx((30.0 + 20.0 + 10.0) / (60.0 + 20.0 + 20.0)));
        CHECK(sweep.elapsed_s() == doctest::Approx(100.0).epsilon(0.05));
        CHECK(*sweep.eta_s() == doctest::Approx(100.0 * 0.4 / 0.6).epsilon(0.05));
    }

    TEST_CASE("WithoutEstimatesAllRunsCountTheSame") {
        SweepOnDisk folder;
        folder.add("a", "finished", "", 0.0);
        folder.add("b", "waiting", "", 0.0);
        folder.save();
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK(sweep.fraction() == 0.5);
    }

    TEST_CASE("NoEtaBeforeThereIsABasis") {
        SweepOnDisk folder;
        folder.add("a", "running");
        folder.add("b", "waiting");
        folder.run("a", 0, "running");
        folder.lock(folder.path());
        folder.save();
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK_FALSE(sweep.eta_s());
        CHECK(sweep.best() == nullptr);
        CHECK_FALSE(has(sweep_lines(sweep, 79, 23, false), "ETA 0"));
    }

    TEST_CASE("RunThatEndsKeepsItsLastWords") {
        Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        folder.locks.clear();
        folder.run("lr=0.2,seed=2", 10, "finished", 0.9375);
        folder.set(3, "finished");
        folder.set(5, "running");
        folder.lock(folder.path());
        folder.save();
        sweep.refresh();
        CHECK(sweep.count(RunState::Finished) == 3);
        CHECK(sweep.runs()[3].round == 10);
        CHECK(sweep.best()->id == "lr=0.2,seed=2");
        const auto lines = sweep_lines(sweep, 79, 8, false);
        CHECK_MESSAGE(has(lines, "✓ lr=0.2,seed=2  0.9375"), text_of(lines));  // the latest first
        folder.set(5, "failed");                                               // before it had a folder
        folder.save();
        sweep.refresh();
        const std::string text = text_of(sweep_lines(sweep, 79, 23, false));
        CHECK_MESSAGE(text.find("✗ lr=0.9,seed=0") < text.find("✓ lr=0.2,seed=2"), text);
    }

    TEST_CASE("RunWithoutAProcessIsKilledOnceTheSweepIs") {
        Ten folder;
        folder.locks.clear();
        folder.lock(folder.path());
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK(sweep.state() == RunState::Running);
        CHECK(sweep.count(RunState::Running) == 2);  // treated as about to start
        folder.locks.clear();
        sweep.refresh();
        CHECK(sweep.state() == RunState::Killed);
        CHECK(sweep.count(RunState::Killed) == 2);
        CHECK(has(sweep_lines(sweep, 79, 23, false), "its process was killed"));
        folder.plan["exit_status"] = "interrupted by SIGINT";
        folder.save();
        sweep.refresh();
        CHECK(sweep.state() == RunState::Interrupted);
        CHECK_FALSE(sweep.eta_s());
    }

    TEST_CASE("InterruptedSweepKeepsTheRoundsOfRunsOnTheirWay") {
        Ten folder;
        SweepView before(folder.path());
        before.refresh();
        for (const std::size_t run : {3, 4}) {
            folder.set(run, "waiting");
            folder.plan["runs"][run]["attempts"] = 1;
        }
        folder.run("lr=0.2,seed=2", 6, "interrupted by SIGINT", 0.625);
        folder.plan["exit_status"] = "interrupted by SIGINT";
        folder.locks.clear();
        folder.save();
        SweepView after(folder.path());
        for (SweepView* sweep : {&before, &after}) {  // a view that saw it running, and one that starts now
            sweep->refresh();
            CHECK(sweep->state() == RunState::Interrupted);
            CHECK(sweep->runs()[3].round == 6);
            CHECK(sweep->rounds_done() == 29);
            CHECK(sweep->rounds_planned() == 100);
            CHECK(sweep->fraction() == doctest::Approx(29.0 / 93.0));  // the failed run's remaining rounds do not count
            CHECK(outcome(sweep->runs()[3]) == "waiting after round 6 of 10  accuracy 0.6250");
            CHECK(outcome(sweep->runs()[9]) == "waiting");
        }
    }

    TEST_CASE("HalfWrittenPlanChangesNothing") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        for (const char* text : {"", "{\"runs\": [{\"id\"", "[]", R"({"runs": 3})"}) {
            std::ofstream(folder.path() / "sweep.json") << text;
            sweep.refresh();
            CHECK(sweep.runs().size() == 10);
        }
        std::ofstream(folder.path() / "sweep.json")
            << R"({"name": 3, "runs": [7, {}, {"id": "ab", "reason": "a\u001b[2Jb", "rounds": "x", "status": 1}]})";
        sweep.refresh();
        REQUIRE(sweep.runs().size() == 2);
        CHECK(sweep.runs()[1].reason == "a [2Jb");
        CHECK(sweep.runs()[1].status == RunState::Waiting);
        SweepView nothing("/nowhere/at/all");
        CHECK_NOTHROW(nothing.refresh());
        CHECK(nothing.state() == RunState::Absent);
    }
}

TEST_SUITE("SweepViewDamaged") {
    TEST_CASE("DamagedPlanIsNoFinishedSweep") {
        const auto damaged = [](const std::string& text, const std::string& problem) {
            const testing::TemporaryFolder folder;
            std::ofstream(folder.path() / "sweep.json") << text;
            SweepView sweep(folder.path());
            sweep.refresh();
            CAPTURE(text);
            CHECK(sweep.state() == RunState::Failed);
            CHECK(sweep.damaged());
            CHECK_MESSAGE(sweep.exit_status().find(problem) != std::string::npos, sweep.exit_status());
        };
        damaged("", "sweep.json is damaged: it is not a JSON object");
        damaged(R"({"exit_status": "finished", "runs": [)", "it is not a JSON object");
        damaged(R"({"exit_status": "finished"})", "it has no list of runs");
        damaged(R"({"runs": []})", "it has no exit_status");
        damaged(R"({"exit_status": "finished", "runs": [{"status": "finished"}]})", "a run has no id");
        damaged(R"({"exit_status": "running", "runs": [{"id": "a", "status": "done"}]})", "the status of run a is 'done'");
        damaged(R"({"exit_status": "running", "runs": [{"id": "../../a", "status": "paused"}]})",
                "'../../a' is not a valid run name");
        damaged(R"({"exit_status": "finished", "runs": [{"id": "a", "status": "finished"}, {"id": "b", "status": "waiting"}]})",
                "but that one of its runs is 'waiting'");
        SweepOnDisk whole;
        whole.add("a", "finished");
        whole.add("b", "stopped");
        whole.plan["exit_status"] = "finished";
        whole.save();
        SweepView sweep(whole.path());
        sweep.refresh();
        CHECK(sweep.state() == RunState::Finished);
        CHECK_FALSE(sweep.damaged());
    }
}

TEST_SUITE("SweepLines") {
    TEST_CASE("TableOf80Columns") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        const auto lines = sweep_lines(sweep, 79, 23, false);
        REQUIRE(lines.size() == 11);
        CHECK(lines[0] == "lr_clients · 2/10 finished · 1 failed · 2 running · 5 waiting");
        CHECK_MESSAGE(lines[1].starts_with("█████████░░░░░░░░░░░░░░░░░░░░░  30 % · 01:40 · ETA 03:5"), lines[1]);
        CHECK(lines[2] == "best 0.8125  lr=0.1,seed=2");
        CHECK(lines[3].empty());
        CHECK(lines[4] == "run              round accuracy           rate     ETA workers");
        CHECK_MESSAGE(lines[5].starts_with("lr=0.2,seed=2     5/10   0.6250  0.50 rounds/s   00:"), lines[5]);
        CHECK(lines[6] == "lr=0.3,seed=1     0/10        -              -       -       2");
        CHECK(lines[7].empty());
        CHECK(has(lines, "✓ lr=0.1,seed=2  0.8125\n"));
        CHECK(has(lines, "✗ lr=0.2,seed=1  client 3 in worker 1: killed by SIGKILL\n"));
    }

    TEST_CASE("NarrowScreenKeepsWhatCounts") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        const auto lines = sweep_lines(sweep, 39, 23, false);
        CHECK(lines[0] == "lr_clients · 2/10 finished · 1 failed");
        CHECK(lines[4] == "run              round accuracy     ETA");
        CHECK(has(lines, "✗ lr=0.2,seed=1  client 3 in worker 1:…\n"));
    }

    TEST_CASE("WideScreenIsNotStretched") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        for (const std::string& line : sweep_lines(sweep, 199, 59, false)) CHECK(columns(line) < 80);
    }

    TEST_CASE("NoSizeIsExceededAndWhatIsLeftOutIsCounted") {
        SweepOnDisk folder;
        for (int i = 0; i < 30; ++i) {
            folder.add("ended=" + std::to_string(i), i % 10 == 0 ? "failed" : "finished", i % 10 == 0 ? "no space left" : "");
            folder.run("ended=" + std::to_string(i), 10, "finished");
        }
        for (int i = 0; i < 12; ++i) {
            folder.add("optimizer.lr=0.0001,clients=1000,running=" + std::to_string(i), "running");
            folder.run("optimizer.lr=0.0001,clients=1000,running=" + std::to_string(i), i, "running");
        }
        folder.lock(folder.path());
        folder.save();
        SweepView sweep(folder.path());
        sweep.refresh();
        for (const std::size_t width : {1, 10, 39, 79, 199})
            for (std::size_t height = 1; height <= 60; ++height) {
                const auto lines = sweep_lines(sweep, width, height, true);
                CHECK(lines.size() <= height);
                for (const std::string& line : lines) CHECK_MESSAGE(columns(line) <= width, line);
            }
        const auto low = sweep_lines(sweep, 79, 8, false);
        CHECK(low.size() == 8);
        CHECK_MESSAGE(has(low, "… and 10 more\n✓ ended="), text_of(low));
        CHECK(has(low, "running=0 "));  // cut in the middle, since the ends distinguish the runs
        const auto usual = sweep_lines(sweep, 79, 23, false);
        CHECK(usual.size() == 23);
        CHECK(has(usual, "✗ ended="));  // at least one failure is among the runs shown
        CHECK_MESSAGE(has(usual, "… and 26 more"), text_of(usual));
        const auto high = sweep_lines(sweep, 79, 60, false);
        CHECK_FALSE(has(high, "more"));
    }

    TEST_CASE("ColoursOnlyWhereTheyAreWanted") {
        const Ten folder;
        SweepView sweep(folder.path());
        sweep.refresh();
        CHECK_FALSE(has(sweep_lines(sweep, 79, 23, false), "\x1b"));
        const auto lines = sweep_lines(sweep, 79, 23, true);
        CHECK(has(lines, "\x1b[31m1 failed\x1b[0m"));
        CHECK(has(lines, "\x1b[32m✓\x1b[0m"));
    }
}
