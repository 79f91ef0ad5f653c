// Real signals in the middle of a round: workers that wait for each other notice it, are replaced or leave, and none remains.
#include "aggregation/base/random.h"
#include "tests/process/mode_runs.h"
#include "tests/process/remains.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

struct Discipline {
    std::string mode;
    std::size_t workers;
};

Options options_of(const Discipline& discipline, const Options& more) {
    Options all{"mode=" + discipline.mode, fmt::format("workers={}", discipline.workers)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

const Discipline kRing{"{name: gradient_averaging, all_reduce: ring}", 4};

/// All workers, `milliseconds` after a round was recorded.
AtWork workers_at_work(const FedhiveRun& run, std::size_t count, int milliseconds) {
    REQUIRE(eventually(30.0, [&] { return run.rounds() >= 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return at_work(run, count);
}

/// Loses one of the workers in the round after round 1; by LibTorch that round takes some tenths of a second.
void check_replaced(const Discipline& discipline, const std::string& epochs, std::uint32_t drawn) {
    CAPTURE(discipline.mode);
    const Options options = options_of(
        discipline, {"rounds=3", "training.engine=libtorch", "training.local_epochs=" + epochs, "failures.policy=retry"});
    const std::string expected = mode_hash(options);
    FedhiveRun run(mode_config(), set(options));
    const AtWork before = workers_at_work(run, discipline.workers, 50);
    Stream stream(drawn, Purpose::Faults);
    kill(before.workers[stream.below(before.workers.size())], SIGKILL);
    const std::string ended = run.end();
    REQUIRE_MESSAGE(ended == "exited with status 0", run.output());
    CHECK(run.manifest()["model_sha256"] == expected);
    CHECK(run.manifest()["failures"]["workers_replaced"] == 1);
    check_nothing_left(before, run.out());
}

/// Sends a signal to a rank of a ring during one of many rounds; the run must end and name it. Returns the seconds that took.
double check_named(int number, const char* kind, double deadline_s) {
    FedhiveRun run(mode_config(),
                   set(options_of(kRing, {"training.local_epochs=20", "rounds=10000",
                                          fmt::format("failures={{policy: abort, deadline_s: {}}}", deadline_s)})));
    const AtWork before = workers_at_work(run, 4, 50);
    const std::int64_t start = now_ns();
    kill(before.workers[2], number);
    CHECK(run.end() == "exited with status 1");
    const double seconds = seconds_between(start, now_ns());
    const std::string events = read_text(run.out() / "events.jsonl");
    CHECK_MESSAGE(events.find("\"worker\":2") != std::string::npos, events);
    CHECK_MESSAGE(events.find(fmt::format("\"kind\":\"{}\"", kind)) != std::string::npos, events);
    check_nothing_left(before, run.out());
    return seconds;
}

}  // namespace

TEST_SUITE("ModesSignals") {
    TEST_CASE("KilledWorkerIsReplacedAndTheModelIsTheSame") {
        check_replaced({"{name: gradient_averaging}", 4}, "12", 1);
        check_replaced({"{name: split, cut: fc1}", 3}, "12", 2);
        check_replaced({"{name: parameter_server}", 2}, "12", 3);
    }

    TEST_CASE("WorkersOfTwoPairsLostAtOnceAreReplacedAndTheModelIsTheSame") {
        const Options options{"mode={name: split, cut: fc1}", "workers=4", "rounds=3", "training.local_epochs=24",
                              "failures.policy=retry"};
        const std::string expected = mode_hash(options);
        FedhiveRun run(mode_config(), set(options));
        const AtWork before = workers_at_work(run, 4, 50);
        kill(run.pid(), SIGSTOP);  // both are detected in a single check
        for (const pid_t worker : before.workers) kill(worker, SIGKILL);
        kill(run.pid(), SIGCONT);
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == expected);
        CHECK(run.manifest()["failures"]["workers_replaced"] == 4);
        check_nothing_left(before, run.out());
    }

    TEST_CASE("ClientWithoutMemoryInOneOfTwoPairsIsTriedAgain") {
        const Options options{"mode={name: split, cut: fc1}", "workers=4", "rounds=3", "failures.policy=retry"};
        Options faults = options;
        faults.emplace_back("faults=[{kind: oom, round: 2, client: 1}]");
        CHECK(mode_hash(faults) == mode_hash(options));
    }

    TEST_CASE("DeadRankOfARingIsNamedAndEverybodyLeaves") {
        CHECK(check_named(SIGKILL, "signalled", 300.0) < 60.0);  // long before the deadline
    }

    TEST_CASE("StoppedRankOfARingIsNamedAndEverybodyLeaves") { check_named(SIGSTOP, "hung", 3.0); }

    TEST_CASE("InterruptInARoundEndsTheOtherModesAtOnceToo") {
        const std::vector<Discipline> disciplines{
            {"{name: semi_async, quorum: 2}", 2}, {"{name: async}", 2},   kRing,
            {"{name: parameter_server}", 2},      {"{name: hogwild}", 2}, {"{name: split, cut: fc2}", 2}};
        for (const Discipline& discipline : disciplines) {
            CAPTURE(discipline.mode);
            FedhiveRun run(mode_config(), set(options_of(discipline, {"training.local_epochs=1000000"})));
            const AtWork before = at_work(run, discipline.workers);
            REQUIRE(all_train(before.workers));
            const std::int64_t start = now_ns();
            kill(run.pid(), SIGINT);
            CHECK(run.end() == "exited with status 130");
            CHECK(seconds_between(start, now_ns()) < 60.0);  // the clients would take minutes
            CHECK(run.rounds() == 0);
            CHECK(run.manifest()["exit_status"].get<std::string>().find("interrupted") == 0);
            check_nothing_left(before, run.out());
        }
    }
}
