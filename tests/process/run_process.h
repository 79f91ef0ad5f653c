// Starts the real binary, inspects its processes, waits for its end and reads its files.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/protocol/process.h"
#include "tests/support/eventually.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fedhive::testing {

inline std::string read_text(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

inline std::vector<std::string> read_lines(const std::filesystem::path& file) {
    std::vector<std::string> lines;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Direct children of a process, from /proc.
inline std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    std::istringstream list(read_text(fmt::format("/proc/{}/task/{}/children", parent, parent)));
    for (pid_t pid = 0; list >> pid;) children.push_back(pid);
    return children;
}

inline bool alive(pid_t pid) {
    // A zombie has ended; its parent has not reaped it yet.
    const std::string status = read_text(fmt::format("/proc/{}/stat", pid));
    const auto after_name = status.rfind(')');
    return after_name != std::string::npos && status[after_name + 2] != 'Z';
}

/// Processor seconds of the process, user and system; 0 if it is gone.
inline double cpu_seconds(pid_t pid) {
    const std::string stat = read_text(fmt::format("/proc/{}/stat", pid));
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 2)));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // state … cmajflt
    double user = 0.0;
    double system = 0.0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// More processor seconds than starting takes; with LibTorch a start takes a quarter of a second.
#ifdef FEDHIVE_SANITIZED
inline constexpr double kStartCpuS = 1.0;
#else
inline constexpr double kStartCpuS = 0.5;
#endif

/// Waits until each of these processes is training, for trainings that last long.
inline bool all_train(const std::vector<pid_t>& pids) {
    return eventually(
        60.0, [&] { return std::all_of(pids.begin(), pids.end(), [](pid_t pid) { return cpu_seconds(pid) >= kStartCpuS; }); });
}

/// A run of the fedhive binary with a small config.
class FedhiveRun {
public:
    FedhiveRun() = default;
    explicit FedhiveRun(const std::string& config, std::vector<std::string> more = {},
                        std::vector<std::pair<std::string, std::string>> environment = {}) {
        std::ofstream(folder_.path() / "test.yaml") << config;
        std::vector<std::string> arguments{"run", (folder_.path() / "test.yaml").string(), "--out", out().string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        start(std::move(arguments), std::move(environment));
    }

    void start(std::vector<std::string> arguments, std::vector<std::pair<std::string, std::string>> environment = {},
               const std::string& program = fedhive_program()) {
        clients::SpawnOptions options;
        options.environment = std::move(environment);
        options.executable = program;
        options.arguments = std::move(arguments);
        options.log = folder_.path() / "output";
        process_ = std::make_unique<clients::ChildProcess>(options);
    }

    pid_t pid() const { return process_->pid(); }
    std::filesystem::path out() const { return folder_.path() / "out"; }
    const std::filesystem::path& folder() const { return folder_.path(); }
    std::string output() const { return read_text(folder_.path() / "output"); }
    std::size_t rounds() const {
        const auto lines = read_lines(out() / "rounds.csv");
        return lines.empty() ? 0 : lines.size() - 1;
    }
    std::vector<pid_t> workers() const { return children_of(pid()); }

    /// "exited with status 0", "killed by …", or "still running".
    std::string end(double seconds = 120.0) {
        process_->wait_for(seconds);
        const auto end = process_->end();
        return end ? end->text : "still running";
    }
    nlohmann::json manifest() const { return nlohmann::json::parse(read_text(out() / "manifest.json")); }

private:
    TemporaryFolder folder_;
    std::unique_ptr<clients::ChildProcess> process_;
};

/// A config that runs in a second or two; `--set` changes rounds and other keys.
inline std::string small_config() {
    return R"(
name: small
rounds: 3
device: cpu
workers: 2
data: {format: synthetic, num_train: 600, num_test: 100, num_classes: 5, num_features: 16, partition: {scheme: dirichlet, clients: 13, alpha: 1.0, min_examples: 5}}
model: {name: mlp, hidden: 32}
training: {cohort: 11, local_epochs: 1, batch_size: 16, optimizer: {name: sgd, lr: 0.05, momentum: 0.5}}
)";
}

using Options = std::vector<std::string>;

inline Options operator+(Options options, const Options& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

/// The options that set these keys: "rounds=3" → --set rounds=3.
inline Options set(const Options& assignments) {
    Options options;
    for (const std::string& assignment : assignments) {
        options.emplace_back("--set");
        options.push_back(assignment);
    }
    return options;
}

/// The model's SHA-256 after a small run with these keys changed.
inline std::string sha_with(const Options& overrides, std::vector<std::pair<std::string, std::string>> environment = {}) {
    FedhiveRun run(small_config(), set(overrides), std::move(environment));
    CAPTURE(run.output());
    REQUIRE(run.end() == "exited with status 0");
    return run.manifest()["model_sha256"];
}

}  // namespace fedhive::testing
