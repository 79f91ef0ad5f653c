// Mode hogwild: all workers write one model. One worker's result is exact; several workers' result learns.
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options hogwild(const std::string& workers, const Options& more = {}) {
    Options all{"mode.name=hogwild", "workers=" + workers};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_SUITE("ModesHogwild") {
    TEST_CASE("OneWorkerTrainsTheClientsOneAfterTheOther") {
        const Options more{"training.cohort=3", "evaluation.every=2"};
        const ModeRun run(hogwild("1", more));
        Rehearsal rehearsal(hogwild("1", more));
        const auto rounds = run.numbers("clients.csv", "round"), clients = run.numbers("clients.csv", "client_id");
        REQUIRE(clients.size() == 9);
        for (std::size_t i = 0; i < clients.size(); ++i)
            rehearsal.train(static_cast<std::uint32_t>(rounds[i]) - 1, static_cast<std::uint32_t>(clients[i]));
        CHECK((run.model(rehearsal.run.model.layout) == rehearsal.model));
        CHECK(mode_hash(hogwild("1", more)) == run.hash());
        CHECK(mode_hash(hogwild("0", more)) == run.hash());
    }

    TEST_CASE("RacingWorkersLearn") {
        // Ten labels, so chance is 0.1; observed were 0.70 to 0.79.
        for (const char* workers : {"2", "4"}) {
            const ModeRun run(hogwild(workers, {"data.num_train=2000", "data.num_test=500", "rounds=5"}));
            const auto accuracy = run.numbers("rounds.csv", "test_accuracy");
            MESSAGE(std::string(workers), " workers: accuracy ", accuracy.back());
            CHECK(accuracy.back() > 0.4);
            CHECK(run.column("rounds.csv", "version").back() == "5");
        }
    }

    TEST_CASE("FullDataGivesEveryClientAllExamples") {
        const ModeRun run(hogwild("2", {"mode.data=full", "training.cohort=3", "rounds=2"}));
        const std::vector<std::string> steps(6, "38");  // 602 examples in batches of 16
        CHECK(run.column("clients.csv", "steps") == steps);
        CHECK(run.column("clients.csv", "num_examples") == std::vector<std::string>(6, "602"));
        const auto losses = run.column("clients.csv", "train_loss");
        CHECK(std::set<std::string>(losses.begin(), losses.end()).size() == 6);
    }

    TEST_CASE("KilledClientIsDroppedAndTheOthersGoOn") {
        const ModeRun run(hogwild("2", {"failures.policy=drop", "faults=[{kind: kill, round: 2, client: 1}]"}));
        CHECK(run.column("rounds.csv", "accepted") == std::vector<std::string>{"4", "3", "4"});
        CHECK(run.column("rounds.csv", "failed") == std::vector<std::string>{"0", "1", "0"});
        CHECK(run.column("clients.csv", "failure")[4 + 1] == "signalled");
        CHECK(run.events_with("\"dropped\"") == 1);
        CHECK(run.manifest()["version"] == 3);
    }

    TEST_CASE("NanInTheSharedModelEndsTheRun") {
        FedhiveRun run(mode_config(), set(hogwild("2", {"failures.policy=drop", "faults=[{kind: nan, round: 2, client: 1}]"})));
        CHECK(run.end() == "exited with status 1");
        CHECK(run.output().find("the shared model contains a NaN") != std::string::npos);
        CHECK(run.rounds() == 1);
    }

    TEST_CASE("InterruptInMidRoundGoesBackToTheLastCheckpoint") {
        for (const char* mode : {"mode={name: hogwild}", "mode={name: parameter_server}"}) {
            FedhiveRun run(mode_config(),
                           set({mode, "workers=1", "rounds=40", "training.local_epochs=20", "checkpoint.every=1"}));
            REQUIRE(eventually(30.0, [&] { return run.rounds() >= 3; }));
            kill(run.pid(), SIGINT);
            REQUIRE(run.end() == "exited with status 130");
            const std::size_t before = run.rounds();
            run.start({"run", "--resume", run.out().string(), "--set", fmt::format("rounds={}", before + 1)});
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] ==
                  mode_hash({mode, "workers=1", "training.local_epochs=20", fmt::format("rounds={}", before + 1)}));
        }
    }
}
