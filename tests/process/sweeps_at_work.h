// Sweeps of real runs. The scheduler runs in its own process, so that it can be signalled and killed like a user's.
#pragma once

#include "clients/protocol/watcher.h"
#include "sim/sweep/scheduler.h"
#include "tests/process/same_run.h"
#include "tests/sim/sweep/sweeps.h"

#include <doctest/doctest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace fedhive::testing {

inline constexpr double kPatienceS = 120.0;

/// A base config and its sweeps in one folder.
class Sweeps {
public:
    explicit Sweeps(const std::vector<std::string>& lines = {}) {
        std::string text = small_config();
        for (const std::string& line : lines) text += line + "\n";
        std::ofstream(base()) << text;
    }
    ~Sweeps() {
        if (process_ > 0) kill(process_, SIGKILL);
        if (process_ > 0) waitpid(process_, nullptr, 0);
    }
    Sweeps(const Sweeps&) = delete;
    Sweeps& operator=(const Sweeps&) = delete;

    /// Starts a sweep without waiting for it.
    void start(const std::vector<PlannedRun>& runs, sim::SweepOptions options = {}) {
        sim::SweepConfig sweep = sweep_of(base(), runs);
        sweep.early_stopping = early_stopping;
        options.folder = path();
        std::fflush(nullptr);
        process_ = fork();
        if (process_ == 0) _exit(run_here(sweep, options));
    }

    /// Exit status, or minus the number of the signal that ended the sweep; kills one that does not end.
    int end() {
        int status = 0;
        if (!eventually(kPatienceS, [&] { return waitpid(process_, &status, WNOHANG) == process_; })) {
            kill(process_, SIGKILL);
            waitpid(process_, &status, 0);
        }
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    int run(const std::vector<PlannedRun>& runs, const sim::SweepOptions& options = {}) {
        start(runs, options);
        return end();
    }

    pid_t pid() const { return process_; }
    std::filesystem::path base() const { return folder_.path() / "base.yaml"; }
    std::filesystem::path path() const { return folder_.path() / "sweep"; }
    std::filesystem::path of(const std::string& id) const { return path() / "runs" / id; }
    std::string error() const { return read_text(folder_.path() / "error"); }
    nlohmann::json json() const { return nlohmann::json::parse(read_text(path() / "sweep.json"), nullptr, false); }
    nlohmann::json runs() const { return json()["runs"]; }
    nlohmann::json json(const std::string& id) const {
        for (const auto& run : runs())
            if (run["id"] == id) return run;
        return nullptr;
    }
    std::size_t rounds(const std::string& id) const {
        const auto lines = read_lines(of(id) / "rounds.csv");
        return lines.empty() ? 0 : lines.size() - 1;
    }
    /// Number of times that the run's processes started, new or resumed.
    std::size_t beginnings(const std::string& id) const {
        const auto events = events_of(of(id));
        return static_cast<std::size_t>(std::count_if(
            events.begin(), events.end(), [](const std::string& event) { return event == "started" || event == "resumed"; }));
    }

    sim::EarlyStoppingConfig early_stopping;
    sim::HostOptions host{.executable = fedhive_program()};

private:
    int run_here(const sim::SweepConfig& sweep, const sim::SweepOptions& options) const {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if the test itself is killed
        clients::block_interrupts();
        const std::vector<sim::RunEstimate> estimates(sweep.runs.size(), {std::uint64_t{100} << 20U, 1.0});
        try {
            sim::Host own(host);
            sim::Hosts hosts(sim::Ranks::alone(), own);
            return sim::run_sweep(sweep, estimates, hosts, options);
        } catch (const std::exception& error) {
            std::ofstream(folder_.path() / "error") << error.what();
            return dynamic_cast<const ConfigError*>(&error) != nullptr ? 2 : 1;
        }
    }

    TemporaryFolder folder_;
    pid_t process_ = 0;
};

inline const std::vector<PlannedRun> kFour{{"lr=0.05", {}},
                                           {"lr=0.1", {"training.optimizer.lr=0.1"}},
                                           {"lr=0.02", {"training.optimizer.lr=0.02", "mode={name: async}"}},
                                           {"seed=2", {"seed=2"}}};

/// Forty short rounds, with a client that pauses in round 12: time to observe the run and to end it.
inline std::vector<PlannedRun> paused(std::vector<PlannedRun> runs, int seconds) {
    for (PlannedRun& run : runs) {
        run.overrides = run.overrides + Options{"rounds=40", "training.cohort=13"};
        // With all clients in each round, client 3 pauses. An asynchronous round has only one client, which pauses.
        const bool one_by_one = std::ranges::count(run.overrides, "mode={name: async}") > 0;
        run.overrides.push_back(
            fmt::format("faults=[{{kind: slow, round: 12, {}seconds: {}}}]", one_by_one ? "" : "client: 3, ", seconds));
    }
    return runs;
}

/// SHA-256 of the model of the same run without its pause.
inline std::string sha_alone(const PlannedRun& planned) {
    Options overrides = planned.overrides;
    std::erase_if(overrides, [](const std::string& one) { return one.starts_with("faults="); });
    return sha_with(overrides);
}

inline void check_all_as_alone(const Sweeps& sweep, const std::vector<PlannedRun>& runs) {
    for (const PlannedRun& run : runs) {
        CHECK(sweep.json(run.id)["status"] == "finished");
        CHECK(manifest_of(sweep.of(run.id))["exit_status"] == "finished");
        CHECK_MESSAGE(manifest_of(sweep.of(run.id))["model_sha256"] == sha_alone(run), run.id);
    }
}

/// Number of processes whose command line names this folder.
inline std::size_t num_processes_of(const std::filesystem::path& folder) {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc"))
        if (read_text(entry.path() / "cmdline").find(folder.string()) != std::string::npos) ++found;
    return found;
}

inline sim::SweepOptions resumed(std::int64_t jobs = 2) { return {.folder = {}, .resume = true, .jobs = jobs}; }
inline sim::SweepOptions adopted() { return {.folder = {}, .resume = true, .adopt = true, .jobs = 2}; }
inline sim::SweepOptions with_jobs(std::int64_t jobs) { return {.folder = {}, .jobs = jobs}; }

}  // namespace fedhive::testing
