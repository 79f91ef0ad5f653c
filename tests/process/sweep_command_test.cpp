// `fedhive sweep` as a user calls it: file, plan, folder, and refusals.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// A base config and sweep files in one folder.
struct SweepFiles : FedhiveRun {
    SweepFiles() { std::ofstream(folder() / "base.yaml") << small_config(); }

    std::filesystem::path write(const std::string& text) const {
        std::ofstream(folder() / "sweep.yaml") << "base: base.yaml\n" << text;
        return folder() / "sweep.yaml";
    }
    std::string sweep(const std::vector<std::string>& arguments) {
        std::filesystem::remove(folder() / "output");
        std::vector<std::string> all{"sweep"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        start(all);
        return end();
    }
    std::string sweep_to_out(const std::string& text, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{write(text).string(), "--out", out().string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return sweep(arguments);
    }
    bool said(const std::string& text) const { return output().find(text) != std::string::npos; }
    nlohmann::json json() const { return nlohmann::json::parse(read_text(out() / "sweep.json")); }
};

constexpr const char* kTwoRates = "grid: {training.optimizer.lr: [0.05, 0.1]}\nseeds: 2\n";

}  // namespace

TEST_SUITE("SweepCommand") {
    TEST_CASE("DryRunListsTheRunsAndStartsNothing") {
        SweepFiles files;
        REQUIRE_MESSAGE(files.sweep_to_out(kTwoRates, {"--dry-run"}) == "exited with status 0", files.output());
        for (const char* text : {"4 runs", "training.optimizer.lr: 0.05, 0.1", "seed: 1, 2", "estimate", "lr-0.1+seed-2"})
            CHECK_MESSAGE(files.said(text), text << "\n" << files.output());
        CHECK_FALSE(std::filesystem::exists(files.out()));
    }

    TEST_CASE("EachRunHasTheBitsItHasAloneAndARowInTheSummary") {
        SweepFiles files;
        REQUIRE_MESSAGE(files.sweep_to_out(kTwoRates, {"--set", "rounds=2", "--set", "device=auto"}) == "exited with status 0",
                        files.output());
        const auto summary = read_lines(files.out() / "summary.csv");
        REQUIRE(summary.size() == 5);
        CHECK(summary[0].starts_with("run,status,training.optimizer.lr,seed,rounds_done,"));
        CHECK(summary[1].starts_with("lr-0.05+seed-1,finished,0.05,1,2,2,"));
        CHECK(read_text(files.out() / "summary.md").find("| 0.1 | 2 | ") != std::string::npos);
        CHECK(files.json()["exit_status"] == "finished");
        CHECK(files.said("finished: 4 of 4 runs"));
        for (const char* id : {"lr-0.05+seed-2", "lr-0.1+seed-1"}) {
            const std::string sha = manifest_of(files.out() / "runs" / id)["model_sha256"];
            FedhiveRun alone;
            alone.start(
                {"run", (files.out() / "configs" / (std::string(id) + ".yaml")).string(), "--out", alone.out().string()});
            REQUIRE(alone.end() == "exited with status 0");
            CHECK(alone.manifest()["model_sha256"] == sha);
        }
        CHECK(files.sweep({"--resume", files.out().string(), "--quiet"}) == "exited with status 0");  // nothing is left to do
        CHECK(files.output().empty());
        for (const auto& run : files.json()["runs"]) CHECK(run["attempts"] == 1);
        CHECK(files.json()["set"][0] == "rounds=2");
    }

    TEST_CASE("MistakesAreNamedWithTheirLineBeforeAnythingStarts") {
        struct Case {
            const char* text;
            const char* said;
        };
        for (const Case& one : {
                 Case{"grid: {training.optimiser.lr: [0.1]}\n",
                      "sweep.yaml:2: training.optimiser: unknown key; did you mean 'optimizer'?"},
                 Case{"grid: {training.optimizer.lr: [0.1, fast]}\n",
                      "sweep.yaml:2: training.optimizer.lr: expected a number, found 'fast'"},
                 // Only the data and the model show this error.
                 Case{"set: {model: {name: mlp}}\ngrid:\n  model: [{name: lr}, {name: mnist_cnn}]\n", "sweep.yaml:"},
                 Case{"grid: {training.optimizer.lr: [0.1, 0.2]}\nseeds: 6\nmax_runs: 11\n", "12 runs"},
             }) {
            SweepFiles files;
            CHECK(files.sweep_to_out(one.text) == "exited with status 2");
            CHECK_MESSAGE(files.said(one.said), one.said << "\n" << files.output());
            CHECK_FALSE(std::filesystem::exists(files.out()));
        }
        SweepFiles files;
        CHECK(files.sweep({}) == "exited with status 2");
        CHECK(files.sweep({"--resume", (files.folder() / "nothing").string()}) == "exited with status 2");
        CHECK(files.sweep_to_out(kTwoRates, {"--jobs", "0"}) == "exited with status 2");
    }

    TEST_CASE("ValuesOfAKeyThatDoesNotApplyAreNamedOnce") {
        SweepFiles files;
        REQUIRE(files.sweep_to_out("cases:\n  - {strategy: {name: fedavg}}\n  - {strategy: {name: fedprox, proximal_mu: 0.1}}\n"
                                   "seeds: 3\n",
                                   {"--dry-run"}) == "exited with status 0");
        CHECK_MESSAGE(files.said("strategy.proximal_mu: –, 0.1\n"), files.output());
    }

    TEST_CASE("InterruptedSweepSaysHowFarItIsAndNotThatSomethingWentWrong") {
        SweepFiles files;
        files.start(
            {"sweep", files.write("seeds: 2\nset: {rounds: 2000}\n").string(), "--out", files.out().string(), "--jobs", "1"});
        const auto rounds = [&] { return read_lines(files.out() / "runs/seed-1/rounds.csv").size(); };
        REQUIRE(eventually(60.0, [&] { return rounds() > 10; }));
        kill(files.pid(), SIGINT);
        CHECK(files.end() == "exited with status 130");
        CHECK_FALSE(files.said("went wrong"));
        const std::string end = fmt::format(
            "interrupted by SIGINT; finished: 0 of 2 runs; {} of 4000 rounds are done; so far: {}/summary.csv and summary.md; "
            "go on "
            "with: fedhive sweep --resume {}\n",
            rounds() - 1, files.out().string(), files.out().string());
        CHECK_MESSAGE(files.said(end), end << files.output());
        CHECK_MESSAGE(files.said(fmt::format("seed-1  waiting after round {} of 2000  accuracy 0.", rounds() - 1)),
                      files.output());
        CHECK_FALSE(files.said("seed-2  waiting"));
    }

    TEST_CASE("ChangedFileIsRefusedUntilItIsGiven") {
        SweepFiles files;
        REQUIRE(files.sweep_to_out("grid: {training.optimizer.lr: [0.05, 0.1]}\n", {"--set", "rounds=1"}) ==
                "exited with status 0");
        const auto file = files.write("grid: {training.optimizer.lr: [0.1, 0.2]}\n");
        CHECK(files.sweep({"--resume", files.out().string()}) == "exited with status 2");
        CHECK_MESSAGE(files.said("1 run is new (lr-0.2)"), files.output());
        CHECK(files.said("1 run is gone (lr-0.05)"));
        CHECK(files.sweep({file.string(), "--set", "rounds=1", "--resume", files.out().string()}) == "exited with status 0");
        CHECK(files.json()["gone"][0] == "lr-0.05");
        CHECK(files.json()["runs"].size() == 2);
        CHECK(files.json()["runs"][0]["attempts"] == 1);
        CHECK(files.json()["runs"][1]["status"] == "finished");
    }
}
