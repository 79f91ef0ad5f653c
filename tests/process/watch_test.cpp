// `fedhive watch` beside a real run: it shows the run's events, ends with the run, and does not affect it.
#include "sim/record/run_lock.h"
#include "tests/process/finished_run.h"

#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

namespace fs = std::filesystem;

/// A watch process with its output in a file.
struct Watch {
    explicit Watch(const fs::path& folder) {
        clients::SpawnOptions options;
        options.executable = fedhive_program();
        options.arguments = {"watch", folder.string()};
        options.log = own.path() / "output";
        process = std::make_unique<clients::ChildProcess>(options);
    }
    std::string end(double seconds = 30.0) const {
        process->wait_for(seconds);
        const auto end = process->end();
        return end ? end->text : "still running";
    }
    std::string output() const { return read_text(own.path() / "output"); }
    bool says(const std::string& text) const { return output().find(text) != std::string::npos; }

    TemporaryFolder own;
    std::unique_ptr<clients::ChildProcess> process;
};

/// fedhive on a terminal of 80 columns.
struct OnTerminal {
    OnTerminal(const std::vector<std::string>& arguments, const char* no_color) {
        winsize size{24, 80, 0, 0};
        std::vector<char*> words{const_cast<char*>("fedhive")};
        for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
        words.push_back(nullptr);
        child = forkpty(&outside, nullptr, nullptr, &size);
        REQUIRE(child >= 0);
        if (child == 0) {
            setenv("TERM", "xterm", 1);
            setenv("NO_COLOR", no_color, 1);
            execv(fedhive_program().c_str(), words.data());
            _exit(127);
        }
    }
    ~OnTerminal() { close(outside); }
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    /// False after its end.
    bool read_more() {
        std::array<char, 4096> part{};
        const ssize_t bytes = read(outside, part.data(), part.size());
        if (bytes > 0) seen.append(part.data(), static_cast<std::size_t>(bytes));
        return bytes > 0;
    }
    void read_for(double seconds) {
        const std::int64_t start = now_ns();
        while (seconds_between(start, now_ns()) < seconds && read_more()) {
        }
    }
    int end() {
        while (read_more()) {
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }

    pid_t child = -1;
    int outside = -1;
    std::string seen;
};

const std::vector<std::string> kLong = set({"rounds=10000"});

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

/// sweep.json of a sweep of three runs.
std::string sweep_json(const std::string& exit_status, const std::array<const char*, 3>& statuses) {
    nlohmann::ordered_json plan{
        {"schema", 1}, {"kind", "sweep"}, {"name", "three"}, {"exit_status", exit_status}, {"wall_s", 2.0}};
    for (std::size_t i = 0; i < statuses.size(); ++i)
        plan["runs"].push_back({{"id", fmt::format("seed={}", i)},
                                {"status", statuses[i]},
                                {"reason", std::string(statuses[i]) == "failed" ? "no \x1b[2Jspace" : ""},
                                {"rounds", 3},
                                {"workers", nullptr},
                                {"estimate_s", 1.0}});
    return plan.dump();
}

void replace_file(const fs::path& file, const std::string& text) {
    std::ofstream(file.string() + ".part") << text;
    fs::rename(file.string() + ".part", file);
}

}  // namespace

TEST_SUITE("Watch") {
    TEST_CASE("FollowsARunToItsEndInPlainLines") {
        FedhiveRun run(small_config(),
                       set({"rounds=40", "training.engine=libtorch", "training.local_epochs=12"}));  // long enough
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 1; }));
        const Watch watch(run.out());
        REQUIRE(run.end() == "exited with status 0");
        CHECK(watch.end() == "exited with status 0");
        const std::string output = watch.output();
        CHECK(output.find('\x1b') == std::string::npos);
        CHECK(output.find('\r') == std::string::npos);
        CHECK(count(output, "     11/11 ") == 40);  // each round once
        CHECK_MESSAGE(watch.says("\n    40       40     11/11 "), output);
        CHECK_MESSAGE(watch.says("finished after 40 of 40 rounds, accuracy 0."), output);
        CHECK(watch.says(fmt::format("process {}", run.pid())));
    }

    TEST_CASE("FinishedRunIsShownAndLeft") {
        const Finished run;
        const std::string before = run.fingerprint();
        const Watch watch(run.out());
        CHECK(watch.end() == "exited with status 0");
        CHECK_MESSAGE(watch.says("finished after 3 of 3 rounds"), watch.output());
        CHECK(count(watch.output(), "     11/11 ") == 3);
        CHECK(run.fingerprint() == before);
    }

    TEST_CASE("FinishedRunWithoutAllItsRowsIsToldAsDamaged") {
        const Finished run;
        const fs::path table = run.out() / "rounds.csv";
        const std::string whole = read_text(table);
        const auto told = [&](const char* what) {
            const Watch watch(run.out());
            CHECK(watch.end() == "exited with status 1");
            CHECK_MESSAGE(
                watch.says(fmt::format("\ndamaged: manifest.json says finished after 3 rounds, but rounds.csv {}; ", what)),
                watch.output());
            CHECK_FALSE(watch.says("\nfinished"));
        };
        replace_file(table, whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
        told("ends with round 2");
        replace_file(table, whole.substr(0, whole.size() - 1));
        told("ends with round 2");
        replace_file(table, "");
        told("has no row");
        fs::remove(table);
        told("has no row");
        REQUIRE(mkfifo(table.c_str(), 0600) == 0);
        told("has no row");
    }

    TEST_CASE("KilledRunIsSeenWhileItIsWatchedAndAfterwards") {
        FedhiveRun run(small_config(), kLong);
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 2; }));
        const Watch watch(run.out());
        REQUIRE(eventually(60.0, [&] { return watch.says("     11/11 "); }));
        CHECK(watch.end(0.0) == "still running");
        kill(run.pid(), SIGKILL);
        CHECK(watch.end() == "exited with status 1");
        CHECK_MESSAGE(watch.says("its process was killed, after "), watch.output());
        CHECK(watch.says(" of 10000 rounds; go on with: fedhive run --resume " + run.out().string()));
        CHECK(run.end() == "killed by SIGKILL (Killed)");
        std::ofstream(run.out() / "rounds.csv", std::ios::app) << "77,77,1";
        const Watch later(run.out());
        CHECK(later.end() == "exited with status 1");
        CHECK_MESSAGE(later.says("1 torn line"), later.output());
    }

    TEST_CASE("InterruptedRunEndsTheWatchAndLeavingItDoesNotEndTheRun") {
        FedhiveRun run(small_config(), kLong);
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 1; }));
        const Watch left(run.out());
        const Watch stayed(run.out());
        REQUIRE(eventually(60.0, [&] { return left.says("     11/11 ") && stayed.says("     11/11 "); }));
        kill(left.process->pid(), SIGINT);
        CHECK(left.end() == "exited with status 130");
        CHECK(left.says("stopped watching; the run continues"));
        const std::size_t then = run.rounds();
        REQUIRE(eventually(60.0, [&] { return run.rounds() > then; }));
        CHECK(stayed.end(0.0) == "still running");
        kill(run.pid(), SIGINT);
        CHECK(run.end() == "exited with status 130");
        CHECK(stayed.end() == "exited with status 1");
        CHECK_MESSAGE(stayed.says("interrupted by SIGINT, after "), stayed.output());
    }

    TEST_CASE("ResumedRunIsFollowedFromWhereItGoesOn") {
        FedhiveRun run(small_config(), set({"rounds=60", "checkpoint.every=50", "training.local_epochs=2"}));
        REQUIRE(eventually(60.0, [&] { return run.rounds() >= 5; }));
        kill(run.pid(), SIGKILL);
        REQUIRE(run.end() == "killed by SIGKILL (Killed)");
        run.start({"run", "--resume", run.out().string()});  // from the beginning: there is no checkpoint yet
        REQUIRE(eventually(30.0, [&] { return fs::exists(run.out() / ".lock") && !run.workers().empty(); }));
        const Watch watch(run.out());
        REQUIRE(run.end() == "exited with status 0");
        CHECK(watch.end() == "exited with status 0");
        CHECK_MESSAGE(watch.says("\n    60       60     11/11 "), watch.output());
        CHECK_FALSE(watch.says("torn"));
    }

    TEST_CASE("FolderThatIsNeitherIsRefused") {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "notes.txt") << "x";
        for (const fs::path& path : {folder.path(), folder.path() / "notes.txt", folder.path() / "missing"}) {
            const Watch watch(path);
            CHECK(watch.end() == "exited with status 2");
            CHECK_MESSAGE(watch.says("fedhive: " + path.string() + ": "), watch.output());
            CHECK(watch.says("expected the folder of a run, with manifest.json"));
        }
    }

    TEST_CASE("NewFolderIsGivenTimeForItsFirstFiles") {
        const TemporaryFolder folder;
        const Watch empty(folder.path());
        CHECK(empty.end(1.0) == "still running");
        {
            const sim::RunLock lock(folder.path());
            CHECK(empty.end(6.0) == "still running");  // another process is at work there
            std::ofstream(folder.path() / "config.yaml") << "rounds: 3\n";
            CHECK(eventually(60.0, [&] { return empty.says("round  version"); }));
        }
        CHECK(empty.end() == "exited with status 1");
        const TemporaryFolder stays_empty;
        CHECK(Watch(stays_empty.path()).end() == "exited with status 2");
    }

    TEST_CASE("SweepIsToldByItsRunsChanges") {
        const TemporaryFolder folder;
        std::optional<sim::RunLock> lock(folder.path());
        replace_file(folder.path() / "sweep.json", sweep_json("running", {"finished", "running", "waiting"}));
        const Watch watch(folder.path());
        CHECK(eventually(60.0, [&] { return watch.says("seed=1  running\n"); }));
        CHECK_FALSE(watch.says("seed=2"));
        replace_file(folder.path() / "sweep.json", sweep_json("running", {"finished", "finished", "running"}));
        CHECK(eventually(60.0, [&] { return watch.says("seed=1  finished\nseed=2  running\n"); }));
        replace_file(folder.path() / "sweep.json", sweep_json("failed: 1 of 3 runs", {"finished", "finished", "failed"}));
        lock.reset();
        CHECK(watch.end() == "exited with status 1");
        CHECK_MESSAGE(watch.says("seed=2  failed  no  [2Jspace\n"), watch.output());
        CHECK(count(watch.output(), "seed=0  finished\n") == 1);
        CHECK_MESSAGE(watch.says("failed: 1 of 3 runs; finished: 2 of 3 runs; "), watch.output());
        CHECK(watch.output().find('\x1b') == std::string::npos);
        replace_file(folder.path() / "sweep.json", sweep_json("finished", {"finished", "finished", "finished"}));
        const Watch later(folder.path());
        CHECK(later.end() == "exited with status 0");
        CHECK_MESSAGE(later.says("finished: 3 of 3 runs"), later.output());
    }

    TEST_CASE("TerminalSeesALineThatMovesAndKeepsTheRows") {
        FedhiveRun run(small_config(), kLong);
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 1; }));
        OnTerminal watch({"watch", run.out().string()}, "1");
        for (int seconds = 0; seconds < 20 && count(watch.seen, " · 2 workers") < 5; ++seconds) watch.read_for(1.0);
        kill(run.pid(), SIGKILL);
        CHECK(watch.end() == 1);
        const std::string& seen = watch.seen;
        CHECK_MESSAGE(count(seen, "\r\x1b[1A") >= 4, seen);  // redrawn four times a second
        CHECK(count(seen, " · 2 workers") >= 4);
        CHECK(seen.find("\x1b[?") == std::string::npos);  // no terminal mode is changed
        CHECK(seen.find("\x1b[3") == std::string::npos);  // NO_COLOR
        CHECK(seen.find("\x1b[2J") == std::string::npos);
    }

    TEST_CASE("RunOnATerminalTellsHowManyWorkersAreBusy") {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "test.yaml") << small_config();
        std::vector<std::string> arguments{"run", (folder.path() / "test.yaml").string(), "--out",
                                           (folder.path() / "out").string()};
        const auto more = set({"rounds=5", "training.engine=libtorch", "training.local_epochs=60"});  // long enough
        arguments.insert(arguments.end(), more.begin(), more.end());
        OnTerminal run(arguments, "");
        CHECK(run.end() == 0);
        const std::string& seen = run.seen;
        CHECK_MESSAGE(count(seen, " · 2/2 workers") >= 1, seen);
        CHECK(count(seen, "     11/11 ") == 5);
        CHECK(count(seen, "\x1b[32m") == 1);  // the final status
        CHECK(seen.find("\x1b[?") == std::string::npos);
        // The line is erased when the run is over.
        CHECK(seen.rfind("/2 workers") < seen.rfind("\r\x1b[1A\x1b[J"));
        CHECK(seen.rfind("\r\x1b[1A\x1b[J") < seen.find("model_sha256"));
    }
}
