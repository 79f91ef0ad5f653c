#include "sim/sweep/sweep_folder.h"
#include "sim/config/load_config.h"

#include "aggregation/base/error.h"
#include "tests/sim/sweep/sweeps.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::testing;

namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kBase = R"(
rounds: 4
data: {format: synthetic, num_train: 60, num_test: 10}
model: {name: lr}
)";

/// A sweep of runs a and b with its folder.
struct Sweep {
    Sweep() {
        write_text(base, kBase);
        fs::create_directories(path);
        config = sweep_of(base, {{"a", {}}, {"b", {"seed=2"}}});
        record = plan_sweep(config, {{100, 1.0}, {100, 2.0}});
        write_sweep(path, record);
        write_inputs(path, config);
    }
    void leave(const std::string& id, const RunConfig& run, const std::string& exit_status) const {
        write_text(run_path(path, id) / "config.yaml", to_yaml(run));
        write_text(run_path(path, id) / "manifest.json", R"({"exit_status": ")" + exit_status + "\"}");
    }
    SweepRecord taken_up(const SweepConfig& now) const {
        return take_up(path, record, plan_sweep(now, std::vector<RunEstimate>(now.runs.size())), find_changes(record, now));
    }

    TemporaryFolder folder;
    fs::path base = folder.path() / "base.yaml";
    fs::path path = folder.path() / "sweep";
    SweepConfig config;
    SweepRecord record;
};

}  // namespace

TEST_SUITE("SweepFolder") {
    TEST_CASE("NewSweepNeedsAnEmptyFolder") {
        const TemporaryFolder folder;
        const fs::path path = folder.path() / "new";
        { const RunLock lock = claim_new_sweep(path); }
        write_text(path / "sweep.json.part", "");  // left by a killed process
        {
            const RunLock lock = claim_new_sweep(path);
            CHECK_THROWS_WITH_AS(claim_new_sweep(path), doctest::Contains("is using this folder"), ConfigError);
        }
        write_text(path / "notes", "");
        CHECK_THROWN_MESSAGE("sweep", "", ConfigError, claim_new_sweep(path));
        CHECK_THROWS_WITH_AS(claim_new_sweep(path / "notes"), doctest::Contains("is not a folder"), ConfigError);
        CHECK_THROWN_MESSAGE("sweep", "", ConfigError, claim_sweep(path));
        const Sweep sweep;
        CHECK_THROWN_MESSAGE("sweep", "", ConfigError, claim_new_sweep(sweep.path));
        const RunLock lock = claim_sweep(sweep.path);
        CHECK_THROWS_WITH_AS(claim_sweep(sweep.path), doctest::Contains("is using this folder"), ConfigError);
    }

    TEST_CASE("InputsAreResolvedConfigsAndTheFile") {
        const Sweep sweep;
        CHECK(to_yaml(load_config(config_path(sweep.path, "b")).run) == to_yaml(sweep.config.runs[1].config));
        CHECK(fs::is_directory(sweep.path / "logs"));
        std::ifstream copy(sweep.path / "sweep.yaml");
        CHECK(std::string(std::istreambuf_iterator<char>(copy), {}) == kBase);
    }

    TEST_CASE("RunStartsNewFromItsCheckpointOrInPlaceOfAnother") {
        const Sweep sweep;
        RunOrder order{sweep.path, "a", sweep.record.runs[0].config_hash, 2, 9};
        const std::string run = run_path(sweep.path, "a").string();
        const std::string config = config_path(sweep.path, "a").string();
        CHECK(run_arguments(order) == Arguments{"run", config, "--out", run, "--quiet", "--set", "workers=2", "--until", "9"});
        order.workers.reset();
        order.until.reset();
        RunConfig with_workers = sweep.config.runs[0].config;
        with_workers.workers = 7;
        sweep.leave("a", with_workers, "running");
        CHECK(run_arguments(order) == Arguments{"run", "--resume", run, "--quiet"});
        sweep.leave("a", sweep.config.runs[1].config, "finished");
        CHECK(run_arguments(order) == Arguments{"run", config, "--out", run, "--overwrite", "--quiet"});
        write_text(run_path(sweep.path, "a") / "config.yaml", "damaged: [");
        CHECK(run_arguments(order) == Arguments{"run", config, "--out", run, "--overwrite", "--quiet"});
    }

    TEST_CASE("FinishedAndStoppedRunsStayWhereTheirFolderSaysSo") {
        Sweep sweep;
        const RunConfig& a = sweep.config.runs[0].config;
        sweep.record.decided = 3;
        for (RunRecord& run : sweep.record.runs) run.attempts = 5;
        const auto status = [&](RunState recorded, const std::string& exit_status) {
            sweep.record.runs[0].status = recorded;
            sweep.record.runs[0].reason = "why";
            sweep.leave("a", a, exit_status);
            const SweepRecord now = sweep.taken_up(sweep.config);
            CHECK(now.decided == 3);
            CHECK(now.runs[0].attempts == 5);
            CHECK((now.runs[0].reason == "why") == (now.runs[0].status != RunState::Waiting));
            return now.runs[0].status;
        };
        CHECK(status(RunState::Finished, "finished") == RunState::Finished);
        CHECK(status(RunState::Running, "finished") == RunState::Finished);  // the sweep was killed before it noticed
        CHECK(status(RunState::Finished, "running") == RunState::Waiting);
        CHECK(status(RunState::Stopped, "paused after round 3") == RunState::Stopped);
        CHECK(status(RunState::Stopped, "running") == RunState::Waiting);
        CHECK(status(RunState::Failed, "failed: no memory") == RunState::Waiting);
        CHECK(status(RunState::Running, "running") == RunState::Waiting);
        CHECK(status(RunState::Paused, "paused after round 3") == RunState::Waiting);
        fs::remove_all(run_path(sweep.path, "a"));
        sweep.record.runs[0].status = RunState::Finished;
        CHECK(sweep.taken_up(sweep.config).runs[0].status == RunState::Waiting);
    }

    TEST_CASE("ChangedSweepKeepsWhatIsTheSameAndComparesAnew") {
        Sweep sweep;
        sweep.record.decided = 3;
        sweep.record.wall_s = 7.0;
        sweep.record.gone = {"z"};
        sweep.record.runs[0].status = RunState::Stopped;
        sweep.record.runs[1].status = RunState::Finished;
        sweep.record.runs[1].attempts = 4;
        sweep.record.runs[1].reason = "rank 2 of 2 after round 3";
        sweep.leave("a", sweep.config.runs[0].config, "paused after round 3");
        sweep.leave("b", sweep.config.runs[1].config, "finished");
        SweepRecord now = sweep.taken_up(sweep_of(sweep.base, {{"b", {"seed=2"}}, {"a", {"seed=3"}}, {"z", {}}}));
        CHECK(now.decided == 0);
        CHECK(now.wall_s == 7.0);
        CHECK(now.gone.empty());
        CHECK(now.runs[0].status == RunState::Finished);
        CHECK(now.runs[0].attempts == 4);
        CHECK(now.runs[0].reason.empty());
        CHECK(now.runs[1].status == RunState::Waiting);  // another config, so it may not use its folder
        CHECK(now.runs[2].status == RunState::Waiting);
        now = sweep.taken_up(sweep_of(sweep.base, {{"a", {}}}));
        CHECK(now.gone == std::vector<std::string>{"z", "b"});
        CHECK(now.runs[0].status == RunState::Waiting);  // to be compared again
        sweep.leave("a", sweep.config.runs[0].config, "finished");
        CHECK(sweep.taken_up(sweep_of(sweep.base, {{"a", {"seed=3"}}})).runs[0].status == RunState::Waiting);
        SweepConfig other_rule = sweep.config;
        other_rule.early_stopping = {StoppingRule::Median, 1, 2};
        CHECK(sweep.taken_up(other_rule).decided == 0);
    }

    TEST_CASE("QualitiesUpToARoundOfWholeRows") {
        const TemporaryFolder run;
        CHECK(read_qualities(run.path(), 9).empty());
        write_text(run.path() / "rounds.csv", "round,test_accuracy,wall_s\n1,0.25,1\n2,,1\n3,0.5,1\n4,0.75,1\n5,0.8");
        CHECK(read_qualities(run.path(), 9) == Qualities{0.25, 0.5, 0.75});
        CHECK(read_qualities(run.path(), 3) == Qualities{0.25, 0.5});
        CHECK(count_rounds(run.path()) == 4);
    }

    TEST_CASE("PausedRoundIsReadFromTheManifest") {
        CHECK(RunRemains{.exit_status = "paused after round 12"}.paused_after() == 12);
        CHECK(RunRemains{.exit_status = "finished"}.paused_after() == 0);
        CHECK(RunRemains{.exit_status = "finished"}.finished());
        CHECK_FALSE(RunRemains{}.finished());
    }

    TEST_CASE("LastLineOfALogFromAPlaceOn") {
        const TemporaryFolder folder;
        const fs::path log = folder.path() / "log";
        CHECK(last_line(log, 0).ends_with("no such file"));
        write_text(log, "first\nsecond\n \n\n");
        CHECK(last_line(log, 0) == "second");
        CHECK(last_line(log, 6) == "second");
        CHECK(last_line(log, 13).empty());
        write_text(log, std::string(500, 'x'));
        CHECK(last_line(log, 0) == std::string(200, 'x'));
    }
}
