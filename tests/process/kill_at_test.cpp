// A run is killed before each call that changes a file of its folder, and in the middle of each write; after a resume it must
// end like a run that was never killed.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

namespace fs = std::filesystem;

/// One process and three small rounds with a checkpoint after each: every kind of write in little time. Server momentum adds
/// state beyond the model.
constexpr const char* kConfig = R"(
name: cut
rounds: 3
device: cpu
workers: 0
data: {format: synthetic, num_train: 60, num_test: 20, num_classes: 3, num_features: 4, partition: {scheme: iid, clients: 5, holdout: 0.2}}
model: {name: lr}
training: {cohort: 3, local_epochs: 1, batch_size: 8, optimizer: {name: sgd, lr: 0.1}}
strategy: {name: fedavgm, server_momentum: 0.9}
evaluation: {clients: {every: 2}}
checkpoint: {every: 1}
)";

struct Kill {
    long call = 0;  // from 1; 0: none
    bool half = false;
};

/// Runs fedhive to its end; logs its changes below `watched`.
std::string run_fedhive(const std::vector<std::string>& arguments, const fs::path& watched, const fs::path& log, Kill kill) {
    clients::SpawnOptions options;
    options.executable = fedhive_program();
    options.arguments = arguments;
    options.log = log.string() + ".output";
    options.environment = {{"LD_PRELOAD", beside_tests("libkill_at.so").string()},
                           {"KILL_AT_FOLDER", watched.string()},
                           {"KILL_AT_CALL", std::to_string(kill.call)},
                           {"KILL_AT_HALF", kill.half ? "1" : "0"},
                           {"KILL_AT_LOG", log.string()}};
    clients::ChildProcess process(options);
    process.wait_for(60.0);
    const auto end = process.end();
    return end ? end->text : "still running";
}

/// All possible kills for a process that makes these calls.
std::vector<Kill> kills_of(const std::vector<std::string>& calls) {
    std::vector<Kill> kills;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        kills.push_back({static_cast<long>(i + 1), false});
        if (calls[i].find("write") != std::string::npos) kills.push_back({static_cast<long>(i + 1), true});
    }
    return kills;
}

/// Runs `each` for all kills in two threads, since most of a run's time is its start.
void for_all(const std::vector<Kill>& kills, const std::function<void(Kill)>& each) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < kills.size(); i = next++) each(kills[i]);
    };
    std::thread other(work);
    work();
    other.join();
}

struct Cut {
    TemporaryFolder folder;
    fs::path config = folder.path() / "cut.yaml";
    fs::path whole = folder.path() / "whole";
    fs::path first_model = folder.path() / "first" / "model.safetensors";
    std::atomic<int> started_again{0};
    std::atomic<int> resumed{0};

    Cut() {
        std::ofstream(config) << kConfig;
        // All runs here begin with this model: a run from a file writes a checkpoint before anything else.
        start({"run", config.string(), "--out", first_model.parent_path().string(), "--set", "rounds=1"});
    }

    void start(const std::vector<std::string>& arguments) const { calls_of(arguments, folder.path() / "nothing"); }

    /// The calls of an undisturbed process.
    std::vector<std::string> calls_of(const std::vector<std::string>& arguments, const fs::path& watched) const {
        const fs::path log = folder.path() / "calls";
        fs::remove(log);
        REQUIRE(run_fedhive(arguments, watched, log, {}) == "exited with status 0");
        return read_lines(log);
    }

    std::vector<std::string> new_run(const fs::path& out) const {
        return {"run", config.string(), "--init", first_model.string(), "--out", out.string()};
    }

    /// For each kill of a process that would make `calls`: `prepare` fills its folder, the process is
    /// killed, resumed and compared.
    void kill_at_each(const std::vector<std::string>& calls, const std::function<void(const fs::path&)>& prepare,
                      const std::function<std::vector<std::string>(const fs::path&)>& arguments) {
        for_all(kills_of(calls), [&](Kill kill) {
            const fs::path run = folder.path() / fmt::format("run-{}{}", kill.call, kill.half ? "-half" : "");
            const fs::path log = run.string() + ".log";
            prepare(run);
            const std::string end = run_fedhive(arguments(run), run, log, kill);
            const bool has_config = fs::exists(run / "config.yaml");
            ++(has_config ? resumed : started_again);
            const auto resume = std::vector<std::string>{"run", "--resume", run.string()};
            const std::string second =
                run_fedhive(has_config && arguments(run)[1] != "--resume" ? resume : arguments(run), run, log, {});
            {
                const std::lock_guard lock(reporting_);
                const std::string what =
                    fmt::format("{}: {}", run.filename().string(), calls[static_cast<std::size_t>(kill.call - 1)]);
                CAPTURE(what);
                CHECK(end == "killed by SIGKILL (Killed)");
                CHECK_MESSAGE(second == "exited with status 0", read_text(log.string() + ".output"));
                check_same_run(run, whole);
            }
            fs::remove_all(run);
        });
    }

private:
    std::mutex reporting_;
};

bool is_about(const std::string& call, const char* name, const char* file) {
    return call.find(name) == 0 && call.find(file) != std::string::npos;
}

/// The calls up to the first checkpoint; from there on a resumed run behaves as any other.
std::vector<std::string> until_checkpoint(std::vector<std::string> calls) {
    calls.erase(std::find_if(calls.begin(), calls.end(), [](const auto& call) { return is_about(call, "rename", "round-"); }),
                calls.end());
    REQUIRE(calls.size() > 15);
    return calls;
}

}  // namespace

TEST_SUITE("KillAt") {
    TEST_CASE("RunKilledAtEachOfItsCallsEndsTheSame") {
        Cut cut;
        const auto calls = cut.calls_of(cut.new_run(cut.whole), cut.whole);
        REQUIRE(calls.size() > 50);
        cut.kill_at_each(
            calls, [](const fs::path&) {}, [&](const fs::path& run) { return cut.new_run(run); });
        CHECK(cut.started_again > 5);
        CHECK(cut.resumed > 50);
    }

    TEST_CASE("ResumeKilledAtEachOfItsCallsEndsTheSame") {
        Cut cut;
        const auto calls = cut.calls_of(cut.new_run(cut.whole), cut.whole);
        std::vector<long> rows;  // of rounds.csv: header, three rounds
        for (std::size_t i = 0; i < calls.size(); ++i)
            if (is_about(calls[i], "write", "rounds.csv")) rows.push_back(static_cast<long>(i + 1));
        REQUIRE(rows.size() == 4);
        // Cut in the second round's row, with a torn event, and without the file of the first model.
        const fs::path torn = cut.folder.path() / "torn";
        REQUIRE(run_fedhive(cut.new_run(torn), torn, torn.string() + ".log", {rows[2], true}) == "killed by SIGKILL (Killed)");
        std::ofstream(torn / "events.jsonl", std::ios::app) << R"({"time":"2026)";
        std::ofstream(torn / "manifest.json.part") << "{";
        fs::remove(cut.first_model);

        const auto copy = [&](const fs::path& run) { fs::copy(torn, run, fs::copy_options::recursive); };
        const auto resume = [](const fs::path& run) { return std::vector<std::string>{"run", "--resume", run.string()}; };
        const fs::path once = cut.folder.path() / "once";
        copy(once);
        cut.kill_at_each(until_checkpoint(cut.calls_of(resume(once), once)), copy, resume);
        check_same_run(once, cut.whole);
        CHECK(cut.resumed > 20);
    }

    TEST_CASE("ExtensionKilledAtEachOfItsCallsEndsTheSame") {
        Cut cut;
        cut.start(cut.new_run(cut.whole));
        const fs::path two = cut.folder.path() / "two";
        auto short_run = cut.new_run(two);
        short_run.insert(short_run.end(), {"--set", "rounds=2"});
        cut.start(short_run);
        const auto copy = [&](const fs::path& run) { fs::copy(two, run, fs::copy_options::recursive); };
        const auto extend = [](const fs::path& run) {
            return std::vector<std::string>{"run", "--resume", run.string(), "--set", "rounds=3"};
        };
        const fs::path once = cut.folder.path() / "once";
        copy(once);
        cut.kill_at_each(until_checkpoint(cut.calls_of(extend(once), once)), copy, extend);
        check_same_run(once, cut.whole);
    }
}
