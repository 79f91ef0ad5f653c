// Promise 2 where evaluation, training or reading data takes long: examples and models are large enough for LibTorch to be busy with.
#include "tests/process/remains.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("Failures") {
    TEST_CASE("InterruptLetsAnEvaluationEndAndASecondOneDoesNot") {
        // A round is a few milliseconds of training and a long evaluation, so half a round after a row one is under way.
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
        CHECK(run.rounds() == finished + 1);  // the round under way was finished
        run.start({"run", "--resume", run.out().string()});
        const AtWork resumed = at_work(run, 2);
        REQUIRE(eventually(120.0, [&] { return run.rounds() >= finished + 2; }));
        std::this_thread::sleep_for(half_a_round);
        const auto rows = run.rounds();
        kill(run.pid(), SIGINT);
        kill(run.pid(), SIGTERM);
        check_interrupted(run, resumed);
        CHECK(run.rounds() == rows);  // and here it was not
    }

    TEST_CASE("OnlyWorkerStoppedWhileWorkIsLeftIsHung") {
        FedhiveRun run(small_config(), {"--set", "training.local_epochs=300", "--set", "rounds=100", "--set", "workers=1",
                                        "--set", "failures.deadline_s=2"});
        const AtWork before = at_work(run, 1);
        REQUIRE(all_train(before.workers));
        kill(before.workers[0], SIGSTOP);
        CHECK(check_aborted(run, before, "hung") < 20.0);
    }

    TEST_CASE("InterruptBeforeTheWorkersExistEndsWith130AndLeavesNoFolder") {
        FedhiveRun run(small_config(), {"--set", "data.num_train=3000000", "--set", "data.num_features=200"});
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
        kill(run.pid(), SIGINT);
        CHECK(run.end(60.0) == "exited with status 130");
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
