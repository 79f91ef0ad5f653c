// Promise 1 over a stop: a run that was killed or interrupted, and resumed, ends like one that was not.
#include "aggregation/base/random.h"
#include "sim/run/run_files.h"
#include "sim/state/checkpoint.h"
#include "sim/state/model_file.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options resume(const FedhiveRun& run, const Options& more = {}) {
    Options arguments{"run", "--resume", run.out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

void finish(FedhiveRun& run, const Options& more = {}) {
    run.start(resume(run, more));
    const std::string end = run.end();
    CHECK_MESSAGE(end == "exited with status 0", run.output());
}

bool said(const FedhiveRun& run, const std::string& text) { return run.output().find(text) != std::string::npos; }

std::int64_t newest_checkpoint_of(const FedhiveRun& run) {
    const auto rounds = sim::checkpoint_rounds(run.out());
    return rounds.empty() ? -1 : rounds.back();
}

/// Sends signal `number` once that many rounds are recorded.
void signal_after(FedhiveRun& run, std::size_t rounds, int number) {
    REQUIRE(eventually(30.0, [&] { return run.rounds() >= rounds; }));
    kill(run.pid(), number);
}

}  // namespace

TEST_SUITE("Resume") {
    TEST_CASE("RunKilledAgainAndAgainEndsAsTheOneThatWasNot") {
        for (const std::string strategy : {"fedavg", "fedavgm", "fedadam"}) {
            const Options options = set({"rounds=150", "evaluation.every=7", "strategy={name: " + strategy + "}"});
            FedhiveRun whole(small_config(), options);
            REQUIRE(whole.end() == "exited with status 0");
            Options thrice = options;
            const Options sparse = set({"checkpoint.every=4"});
            thrice.insert(thrice.end(), sparse.begin(), sparse.end());
            FedhiveRun run(small_config(),
                           strategy == "fedavg" ? options : thrice);  // checkpoints: auto, or every 4th round
            Stream stream(1, Purpose::TestData);
            for (const std::size_t rounds : {10U, 50U, 90U}) {
                signal_after(run, rounds + stream.below(20), 0);
                std::this_thread::sleep_for(std::chrono::microseconds(stream.below(5000)));
                kill(run.pid(), SIGKILL);
                CHECK(run.end() == "killed by SIGKILL (Killed)");
                run.start(resume(run));
            }
            CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
            check_same_run(run.out(), whole.out());
        }
    }

    TEST_CASE("InterruptSaysHowToGoOnAndLosesNoRound") {
        const Options options =
            set({"rounds=2000", "evaluation.every=100", "strategy={name: fedadam}", "checkpoint.every=1000000"});
        FedhiveRun run(small_config(), options);
        signal_after(run, 20, SIGINT);
        REQUIRE(run.end() == "exited with status 130");
        const auto rounds = static_cast<std::int64_t>(run.rounds());
        CHECK(newest_checkpoint_of(run) == rounds);
        CHECK(said(run, fmt::format("interrupted after {} of 2000 rounds; go on with: fedhive run --resume {}\n", rounds,
                                    run.out().string())));
        CHECK(run.manifest()["exit_status"] == "interrupted by SIGINT");
        CHECK(run.manifest()["round"] == rounds);
        // Only a few more rounds, to keep the test short.
        const std::string more = fmt::format("rounds={}", rounds + 5);
        finish(run, set({more}));
        CHECK(said(run, fmt::format("resumed     after round {} of {}, from checkpoints/round-{:08}.safetensors", rounds,
                                    rounds + 5, rounds)));
        Options exactly = set({"evaluation.every=100", "strategy={name: fedadam}", "checkpoint.every=1000000", more});
        FedhiveRun whole(small_config(), exactly);
        REQUIRE(whole.end() == "exited with status 0");
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("InterruptWhileAClientTrainsKeepsTheRoundsBefore") {
        // Client 3 hangs in round 3; after round 1 only the interrupt writes a checkpoint.
        FedhiveRun run(small_config(), set({"faults=[{kind: slow, round: 3, client: 3, seconds: 1000}]", "training.cohort=13",
                                            "checkpoint.every=1000", "rounds=4"}));
        signal_after(run, 2, SIGTERM);
        REQUIRE(run.end() == "exited with status 130");
        CHECK(newest_checkpoint_of(run) == 2);
        CHECK(said(run, "interrupted after 2 of 4 rounds"));
    }

    TEST_CASE("RunPausedAndResumedHasTheTablesOfTheWholeOne") {
        const Options options = set({"rounds=7", "evaluation.every=3"});
        FedhiveRun whole(small_config(), options);
        REQUIRE(whole.end() == "exited with status 0");
        Options until = options;
        until.insert(until.end(), {"--until", "2"});
        FedhiveRun run(small_config(), until);
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.rounds() == 2);
        CHECK(run.manifest()["exit_status"] == "paused after round 2");
        CHECK(said(run, "paused after 2 of 7 rounds; go on with: fedhive run --resume"));
        CHECK_FALSE(std::filesystem::exists(run.out() / "model.safetensors"));
        finish(run, {"--until", "5"});
        CHECK(run.manifest()["exit_status"] == "paused after round 5");
        finish(run, {"--until", "4"});  // was reached already
        CHECK(run.manifest()["exit_status"] == "paused after round 5");
        finish(run, {"--until", "7"});
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("QuietInterruptPrintsNothing") {
        FedhiveRun run(small_config(), {"--quiet", "--set", "rounds=100000"});
        signal_after(run, 3, SIGINT);
        REQUIRE(run.end() == "exited with status 130");
        CHECK(run.output().empty());
    }

    TEST_CASE("FinishedRunSaysSoAndIsExtendedByMoreRounds") {
        const Options options = set({"evaluation.every=2", "strategy={name: fedavgm, server_momentum: 0.9}"});
        FedhiveRun run(small_config(), options);
        REQUIRE(run.end() == "exited with status 0");
        const std::string manifest = read_text(run.out() / "manifest.json");
        finish(run);
        CHECK(said(run, "the run has finished after 3 rounds; for more rounds: fedhive run --resume " + run.out().string() +
                            " --set rounds=N"));
        CHECK(read_text(run.out() / "manifest.json") == manifest);
        finish(run, set({"workers=3"}));  // still nothing to do
        CHECK(read_text(run.out() / "manifest.json") == manifest);

        finish(run, set({"rounds=6"}));
        CHECK(read_text(run.out() / "config.yaml").find("rounds: 6\n") != std::string::npos);
        Options longer = options;
        const Options six = set({"rounds=6"});
        longer.insert(longer.end(), six.begin(), six.end());
        FedhiveRun whole(small_config(), longer);
        REQUIRE(whole.end() == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
        CHECK(comparable(run.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        CHECK(run.rounds() == 6);  // round 3 was the last one at first, so it was evaluated
    }

    TEST_CASE("RunEndedByItsAccuracyIsFinishedUntilThatIsTakenAway") {
        FedhiveRun run(small_config(), set({"stop.test_accuracy=0.01", "rounds=5"}));
        REQUIRE(run.end() == "exited with status 0");
        REQUIRE(run.rounds() == 1);
        finish(run);
        CHECK(said(run, "the run has finished after 1 rounds by stop.test_accuracy"));
        finish(run, set({"rounds=7"}));  // the target accuracy remains reached
        CHECK(run.rounds() == 1);
        finish(run, set({"stop.test_accuracy=null"}));
        CHECK(run.rounds() == 5);
        FedhiveRun whole(small_config(), set({"rounds=5"}));
        REQUIRE(whole.end() == "exited with status 0");
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("AccuracyReachedJustBeforeAKillEndsTheRun") {
        FedhiveRun run(small_config(), set({"stop.test_accuracy=0.01", "rounds=5"}));
        REQUIRE(run.end() == "exited with status 0");
        const std::string sha = run.manifest()["model_sha256"];
        // As after a kill that follows the last checkpoint.
        auto manifest = run.manifest();
        manifest["exit_status"] = "running";
        std::ofstream(run.out() / "manifest.json") << manifest;
        std::filesystem::remove(run.out() / "model.safetensors");
        finish(run);
        CHECK(run.rounds() == 1);
        CHECK(run.manifest()["exit_status"] == "finished");
        CHECK(run.manifest()["model_sha256"] == sha);
        CHECK(std::filesystem::exists(run.out() / "model.safetensors"));
    }

    TEST_CASE("ManifestTellsOfTheWholeRun") {
        const Options faulty{"--set", "faults=[{kind: throw, rate: 0.2}]", "--set", "failures={policy: retry}"};
        FedhiveRun run(small_config(), faulty);
        REQUIRE(run.end() == "exited with status 0");
        const auto first = run.manifest();
        CHECK(first["resumed"] == 0);
        CHECK(first["failures"]["retried"] > 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times have a resolution of seconds
        finish(run, set({"rounds=5"}));
        finish(run, set({"rounds=6"}));
        const auto last = run.manifest();
        Options longer = faulty;
        longer.insert(longer.end(), {"--set", "rounds=6"});
        FedhiveRun whole(small_config(), longer);
        REQUIRE(whole.end() == "exited with status 0");
        CHECK(last["failures"] == whole.manifest()["failures"]);
        CHECK(last["model_sha256"] == whole.manifest()["model_sha256"]);
        CHECK(last["resumed"] == 2);
        CHECK(last["started"] == first["started"]);
        CHECK(last["finished"] != first["finished"]);
        CHECK(last["wall_s"]["total"] > first["wall_s"]["total"]);
        double train_s = 0.0;
        for (const auto& round : read_csv(run.out() / "rounds.csv")) train_s += std::stod(round.at("train_s"));
        CHECK(last["wall_s"]["train"].get<double>() == doctest::Approx(train_s).epsilon(1e-3));
        const auto events = events_of(run.out());
        CHECK(std::count(events.begin(), events.end(), "resumed") == 2);
        CHECK(std::count(events.begin(), events.end(), "finished") == 3);
    }

    TEST_CASE("NewestCheckpointsStay") {
        FedhiveRun run(small_config(), set({"rounds=9", "checkpoint={every: 2, keep: 3}"}));
        REQUIRE(run.end() == "exited with status 0");
        CHECK(sim::checkpoint_rounds(run.out()) == std::vector<std::int64_t>{6, 8, 9});
        const auto newest = sim::read_checkpoint(sim::checkpoint_path(run.out(), 9)).checkpoint;
        CHECK(newest.config == read_text(run.out() / "config.yaml"));
        CHECK(newest.tables.rounds.bytes == std::filesystem::file_size(run.out() / "rounds.csv"));
        CHECK(newest.tables.clients.bytes == std::filesystem::file_size(run.out() / "clients.csv"));
        CHECK(newest.version == 9);
    }

    TEST_CASE("AutoWritesAfterTheFirstRoundThenNotEveryRound") {
        FedhiveRun run(small_config(), set({"rounds=100000", "checkpoint.keep=100000", "evaluation.every=100000"}));
        signal_after(run, 1, 0);
        REQUIRE(eventually(60.0, [&] { return !sim::checkpoint_rounds(run.out()).empty(); }));
        CHECK(sim::checkpoint_rounds(run.out()).front() == 1);
        signal_after(run, 300, SIGINT);
        REQUIRE(run.end() == "exited with status 130");
        const auto written = sim::checkpoint_rounds(run.out()).size();
        CHECK(written >= 2);
        CHECK(written < run.rounds() / 3);
    }

    TEST_CASE("RunFromAModelFileNeedsTheFileOnce") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        const auto model = first.out() / "model.safetensors";
        const Options options{"--init", model.string()};
        FedhiveRun whole(small_config(), options);
        FedhiveRun other(small_config());
        REQUIRE(whole.end() == "exited with status 0");
        REQUIRE(other.end() == "exited with status 0");
        CHECK(whole.manifest()["model_sha256"] != other.manifest()["model_sha256"]);
        // The initial model is the first checkpoint, and is not removed with the others.
        CHECK(sim::checkpoint_rounds(whole.out()).front() == 0);
        const auto state = sim::read_checkpoint(sim::checkpoint_path(whole.out(), 0)).state;
        const sim::StateFile given = sim::read_state(model);
        for (const sim::Tensor& tensor : given.tensors) {
            const sim::TensorPlace* copy = state.find("model." + tensor.name);
            REQUIRE(copy != nullptr);
            CHECK(bytes_of(state, *copy) == tensor.data);
        }
        FedhiveRun run(small_config(), {"--init", model.string(), "--set", "rounds=2"});
        REQUIRE(run.end() == "exited with status 0");
        std::filesystem::remove(model);
        for (const std::int64_t round : {1, 2}) std::filesystem::remove(sim::checkpoint_path(run.out(), round));
        finish(run, set({"rounds=3"}));
        CHECK(said(run, "resumed     after round 0 of 3, from checkpoints/round-00000000.safetensors"));
        CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
        CHECK(comparable(run.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
    }

    TEST_CASE("AutomaticCheckpointsComeAfterTheFirstRoundAndThenAtMostOnceASecond") {
        FedhiveRun run(small_config(), set({"rounds=1500", "evaluation.every=1500", "checkpoint.keep=1500"}));
        REQUIRE(run.end() == "exited with status 0");
        const auto written = sim::checkpoint_rounds(run.out());
        CHECK(written.front() == 1);
        CHECK(written.back() == 1500);
        // The last one is written without the minimum interval.
        CHECK(static_cast<double>(written.size()) <= 2.0 + run.manifest()["wall_s"]["total"].get<double>());
    }

    TEST_CASE("ResumedWithOtherWorkersEndsTheSame") {
        FedhiveRun whole(small_config(), set({"rounds=6"}));
        REQUIRE(whole.end() == "exited with status 0");
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        finish(run, set({"rounds=6", "workers=3"}));
        check_same_run(run.out(), whole.out());
        CHECK(run.manifest()["workers"] == 3);
    }

    TEST_CASE("ResumedWithLongerSlotsEndsWithTheSameModel") {
        FedhiveRun whole(small_config(), set({"rounds=6"}));
        REQUIRE(whole.end() == "exited with status 0");
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        finish(run, set({"rounds=6", "training.clients_per_slot=4"}));
        CHECK(run.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
    }
}
