// Promise 2 during long evaluations, training or reading of data; examples and models are large enough to keep LibTorch busy.
#include "tests/process/remains.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Whether fedhive itself (not the process before exec) has installed its handling of interrupts, the first thing it does.
bool waits_for_interrupts(pid_t process) {
    const std::filesystem::path folder = std::filesystem::path("/proc") / std::to_string(process);
    std::error_code gone;
    if (std::filesystem::read_symlink(folder / "exe", gone).filename() != FEDHIVE_PROGRAM) return false;
    for (const std::string& line : read_lines(folder / "status"))
        if (line.starts_with("SigBlk:")) return (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
    return false;
}

}  // namespace

TEST_SUITE("Failures") {
    TEST_CASE("InterruptLetsAnEvaluationEndAndASecondOneDoesNot") {
        // A round has milliseconds of training and a long evaluation, so half a round after a row, an
        // evaluation is in progress.
        FedhiveRun run(small_config(), {"--set", "data.num_test=600000", "--set", "model.hidden=256", "--set", "rounds=100",
                                        "--set", "evaluation.chunk_size=1000"});
        const AtWork before = at_work(run, 2);
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= 1; }));
        const std::int64_t first_row = now_ns();
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= 2; }));
        const auto half_a_round = std::chrono::nanoseconds((now_ns() - first_row) / 2);
        std::this_thread::sleep_for(half_a_round);
        const auto finished = run.rounds();
        kill(run.pid(), SIGINT);
        check_interrupted(run, before);
        CHECK(run.rounds() == finished + 1);  // the current round was finished
        run.start({"run", "--resume", run.out().string()});
        const AtWork resumed = at_work(run, 2);
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= finished + 2; }));
        std::this_thread::sleep_for(half_a_round);
        const auto rows = run.rounds();
        kill(run.pid(), SIGINT);
        kill(run.pid(), SIGTERM);
        check_interrupted(run, resumed);
        CHECK(run.rounds() == rows);  // here it was not
    }

    TEST_CASE("OnlyWorkerStoppedWhileWorkIsLeftIsHung") {
        FedhiveRun run(small_config(), {"--set", "training.local_epochs=300", "--set", "rounds=100", "--set", "workers=1",
                                        "--set", "failures.deadline_s=2"});
        const AtWork before = at_work(run, 1);
        REQUIRE(all_train(before.workers));
        kill(before.workers[0], SIGSTOP);
        CHECK(check_aborted(run, before, "hung") < 28.0);
    }

    TEST_CASE("InterruptBeforeTheWorkersExistEndsWith130AndLeavesNoFolder") {
        // Generating the data takes seconds on any processor.
        FedhiveRun run(small_config(), {"--set", "data.num_train=600000", "--set", "data.num_features=200"});
        REQUIRE(eventually(60.0, [&] { return waits_for_interrupts(run.pid()); }));
        kill(run.pid(), SIGINT);
        CHECK(run.end() == "exited with status 130");
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
